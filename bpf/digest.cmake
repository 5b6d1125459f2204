# SPDX-License-Identifier: Apache-2.0
# cmake -DOBJECT=FILE -DHEADER=FILE -P digest.cmake: the object's SHA-256 as a C array. It is compared at each start, and
# computing it there would be a third of all that a start costs.
file(SHA256 ${OBJECT} digest)
string(REGEX REPLACE "(..)" "0x\\1, " bytes ${digest})
file(WRITE ${HEADER} "static const unsigned char sbpf_object_sha256[32] = {${bytes}};\n")
