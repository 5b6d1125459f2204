/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* How files and names are found in a policy. A part of decide.h, which includes it. */
#ifndef SBPF_DECIDE_FILES_H
#define SBPF_DECIDE_FILES_H

/* Names are hashed in words of 8 bytes, the last one filled up with zeros, by both sides alike. No secret is needed:
 * what is found by a hash is compared. */
#define SBPF_FS_HASH_SEED 0x5342504600000000ull

SBPF_INLINE __u64 sbpf_fs_hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Which of a header's bits stands for a file that has an entry of its own: by the inode's number alone. */
SBPF_INLINE __u32 sbpf_fs_file_bit(__u64 ino)
{
	return (__u32)(ino * 0x9e3779b97f4a7c15ull >> 57);
}

/* Directories and other files are told apart: overlayfs numbers them independently of each other. */
SBPF_INLINE void sbpf_fs_inode_key(struct sbpf_rule_key *key, __u64 ino, __u32 dev, __u32 generation, int is_directory)
{
	struct sbpf_fs_inode inode = {.ino = ino, .dev = dev, .generation = generation};

	__builtin_memset(key, 0, sizeof(*key));
	key->kind = SBPF_RULE_FS_INODE;
	key->match = !!is_directory;
	__builtin_memcpy(key->addr, &inode, sizeof(inode));
}

SBPF_INLINE void sbpf_fs_name_key(struct sbpf_rule_key *key, __u32 node, __u32 len, __u64 hash)
{
	struct sbpf_fs_name name = {.hash = hash, .node = node, .len = len};

	__builtin_memset(key, 0, sizeof(*key));
	key->kind = SBPF_RULE_FS_NAME;
	__builtin_memcpy(key->addr, &name, sizeof(name));
}

/* `hash`: as of a directory's entry. */
SBPF_INLINE void sbpf_unix_key(struct sbpf_rule_key *key, __u32 len, __u64 hash)
{
	sbpf_fs_name_key(key, 0, len, hash);
	key->kind = SBPF_RULE_UNIX;
}

#endif
