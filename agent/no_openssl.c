// SPDX-License-Identifier: Apache-2.0
// What ldns wants of OpenSSL, for DNSSEC, TSIG and keys, of which we use nothing: without this all of OpenSSL would be in the
// executables, and its 16,000 relocations would be a tenth of what a start of `sbpf run` executes. None of it is reached from
// the functions that agent/dns_message.cpp calls; what would reach it ends the process.
#include <stdlib.h>

#define NONE(name) \
  _Noreturn void name(void); \
  void name(void) { abort(); }

NONE(BN_bin2bn) NONE(BN_bn2bin) NONE(BN_free) NONE(BN_new) NONE(BN_num_bits) NONE(CRYPTO_free) NONE(CRYPTO_memcmp)
NONE(DSA_SIG_free) NONE(DSA_SIG_get0) NONE(DSA_SIG_new) NONE(DSA_SIG_set0) NONE(DSA_do_sign) NONE(DSA_free)
NONE(DSA_generate_key) NONE(DSA_generate_parameters_ex) NONE(DSA_get0_key) NONE(DSA_get0_pqg) NONE(DSA_new)
NONE(DSA_set0_key) NONE(DSA_set0_pqg) NONE(ECDSA_SIG_free) NONE(ECDSA_SIG_get0) NONE(EC_GROUP_get0_generator)
NONE(EC_GROUP_get_curve_name) NONE(EC_KEY_free) NONE(EC_KEY_generate_key) NONE(EC_KEY_get0_group)
NONE(EC_KEY_get0_private_key) NONE(EC_KEY_new_by_curve_name) NONE(EC_KEY_set_conv_form) NONE(EC_KEY_set_private_key)
NONE(EC_KEY_set_public_key) NONE(EC_POINT_copy) NONE(EC_POINT_free) NONE(EC_POINT_mul) NONE(EC_POINT_new)
NONE(ENGINE_load_private_key) NONE(ERR_print_errors_fp) NONE(EVP_DigestFinal_ex) NONE(EVP_DigestInit)
NONE(EVP_DigestInit_ex) NONE(EVP_DigestSign) NONE(EVP_DigestSignInit) NONE(EVP_DigestUpdate) NONE(EVP_DigestVerify)
NONE(EVP_DigestVerifyInit) NONE(EVP_MD_CTX_free) NONE(EVP_MD_CTX_new) NONE(EVP_PKEY_CTX_free)
NONE(EVP_PKEY_CTX_new_id) NONE(EVP_PKEY_CTX_set_rsa_keygen_bits) NONE(EVP_PKEY_assign) NONE(EVP_PKEY_free)
NONE(EVP_PKEY_get1_DSA) NONE(EVP_PKEY_get1_EC_KEY) NONE(EVP_PKEY_get1_RSA) NONE(EVP_PKEY_get_base_id)
NONE(EVP_PKEY_get_id) NONE(EVP_PKEY_keygen) NONE(EVP_PKEY_keygen_init) NONE(EVP_PKEY_new) NONE(EVP_PKEY_set1_DSA)
NONE(EVP_PKEY_set1_RSA) NONE(EVP_SignFinal) NONE(EVP_VerifyFinal) NONE(EVP_md5) NONE(EVP_sha1) NONE(EVP_sha256)
NONE(EVP_sha384) NONE(EVP_sha512) NONE(HMAC) NONE(MD5) NONE(RAND_bytes) NONE(RAND_seed) NONE(RSA_free)
NONE(RSA_get0_crt_params) NONE(RSA_get0_factors) NONE(RSA_get0_key) NONE(RSA_new) NONE(RSA_set0_crt_params)
NONE(RSA_set0_factors) NONE(RSA_set0_key) NONE(RSA_sign) NONE(SHA1) NONE(SHA384) NONE(UI_OpenSSL) NONE(d2i_DSA_SIG)
NONE(d2i_ECDSA_SIG) NONE(d2i_PUBKEY) NONE(d2i_PrivateKey) NONE(i2d_DSA_SIG) NONE(i2d_PUBKEY) NONE(i2d_PrivateKey)
NONE(i2o_ECPublicKey) NONE(o2i_ECPublicKey)
