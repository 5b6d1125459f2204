/* SPDX-License-Identifier: GPL-2.0-only */
/* From a file to the node of the policy's tree that decides about it. Never by path strings: by inodes upwards from the
 * file, through the parents of its own filesystem, in whatever mount or root the task sees it. */
#ifndef SBPF_FS_H
#define SBPF_FS_H

#include "fs_cache.h"

struct fs_place {
	__u64 dentry;
	__u32 flags; /* enum sbpf_fs_flags: of what lies beneath and of its name, only if it is itself a node */
	__u32 rule;
	__u32 exec_rule;
	__u8 rights;  /* enum sbpf_fs_rights */
	__u8 covered; /* 0: no node up to the root of the filesystem */
	__u8 exact;   /* it is itself a node */
	__u8 shared;  /* the directory, and all in it that no rule knows, have the same rights */
};

/* Hash of a name, in chunks of 32 bytes (policy/filesystem.cpp has the same for user space). Global, so that the loop
 * is verified once; the name by its address, as such functions take no kernel pointers. */
__weak __noinline __u64 fs_name_hash(__u64 name, __u32 len)
{
	__u64 hash = SBPF_FS_HASH_SEED;

	for (__u32 at = 0; at < 256; at += 32) {
		__u64 word[4] = {};
		__u32 n;

		if (at >= len)
			break;
		n = len - at;
		asm volatile("" : "+r"(n)); /* so that the bound stays where the verifier sees it */
		if (n > 32)
			n = 32;
		if (bpf_probe_read_kernel(word, n, (const void *)(name + at)))
			return 0;
		hash = sbpf_fs_hash_word(hash, word[0]);
		hash = sbpf_fs_hash_word(hash, word[1]);
		hash = sbpf_fs_hash_word(hash, word[2]);
		hash = sbpf_fs_hash_word(hash, word[3]);
	}
	return hash;
}

/* Does the entry hold this piece of a name, which has `len` bytes from here on? Global, as fs_name_hash. */
__weak __noinline int fs_holds_piece(const struct sbpf_fs_node *entry, __u64 piece, __u32 len)
{
	__u64 word[SBPF_FS_PIECE_WORDS] = {};

	if (!entry)
		return 0;
	if (len > SBPF_FS_PIECE)
		len = SBPF_FS_PIECE;
	if (bpf_probe_read_kernel(word, len, (const void *)piece))
		return 0;
	for (int i = 0; i < SBPF_FS_PIECE_WORDS; i++)
		if (word[i] != entry->name[i])
			return 0;
	return 1;
}

/* Is it this name's entry, and not one of a name with the same hash? `key`: of the entry; changed. */
static __always_inline int fs_bears(void *policy, struct sbpf_rule_key *key, const struct sbpf_fs_node *entry,
				    __u64 name, __u32 len)
{
	if (!fs_holds_piece(entry, name, len))
		return 0;
	for (__u32 i = 1, at = SBPF_FS_PIECE; i < SBPF_FS_PIECES && at < len; i++, at += SBPF_FS_PIECE) {
		key->port = i;
		if (!fs_holds_piece(sbpf_policy_lookup(policy, key), name + at, len - at))
			return 0;
	}
	return 1;
}

/* The node of a directory's entry; `dentry`: its address. */
static __noinline const struct sbpf_fs_node *fs_child(void *policy, __u32 node, __u64 dentry, struct fs_place *place)
{
	/* Read as what they are now, by the address. */
	__u64 name = (__u64)BPF_CORE_READ((struct dentry *)dentry, d_name.name);
	__u32 len = BPF_CORE_READ((struct dentry *)dentry, d_name.len);
	__u64 hash = fs_name_hash(name, len);
	const struct sbpf_fs_node *child;
	struct sbpf_rule_key key;

	if (!hash)
		place->covered = 0; /* unreadable: no verdict */
	sbpf_fs_name_key(&key, node, len, hash);
	child = sbpf_policy_lookup(policy, &key);
	return child && fs_bears(policy, &key, child, name, len) ? child : NULL;
}

static __always_inline const struct sbpf_fs_node *fs_node_of(void *policy, struct inode_home *home, struct inode *inode,
							     int is_directory)
{
	struct sbpf_rule_key key;

	home->inode = (__u64)inode;
	sbpf_fs_inode_key(&key, inode_number(home->magic, inode), inode_dev(home), inode_generation(home->magic, inode),
			  is_directory);
	return sbpf_policy_lookup(policy, &key);
}

#define FS_SLOT(entry) ((entry) & (SBPF_FS_NAME_DEPTH - 1))
SBPF_ASSERT(FS_SLOT(SBPF_FS_NAME_DEPTH) == 0);

/* Upwards to the first inode that is a node. */
struct fs_walk {
	void *policy;
	struct dentry *at;
	const struct sbpf_fs_node *node;
	__u64 steps; /* to that node */
	/* Of the entries that were passed last: of the file in slot 0, of the directory of step N in slot N + 1. */
	__u64 entry[SBPF_FS_NAME_DEPTH];
	struct inode_home home;
};

/* A step of SBPF_REPEAT. Entries by their addresses: to the verifier, what a walk has passed is then of one type,
 * however far it came. */
static long fs_step(__u64 step, struct fs_walk *walk)
{
	struct dentry *dentry = walk->at, *parent;
	struct inode *inode = inode_of(dentry);

	if (!inode)
		return 1;
	walk->steps = step;
	walk->node = fs_node_of(walk->policy, &walk->home, inode, 1);
	if (walk->node)
		return 1;
	walk->entry[FS_SLOT(step + 1)] = (__u64)dentry;
	parent = dentry->d_parent;
	if (parent == dentry)
		return 1; /* the filesystem's root, or disconnected from it */
	walk->at = parent;
	return 0;
}

/* From the node to the entry below it that was passed last but `back`. */
#define FS_DOWN(back, deeper)                                                                                          \
	do {                                                                                                           \
		if (passed <= (back))                                                                                  \
			goto exact;                                                                                    \
		if (!(node->flags & SBPF_FS_NAMED))                                                                    \
			goto found;                                                                                    \
		child = fs_child(policy, node->node, walk.entry[FS_SLOT(walk.steps - (back))], place);                 \
		if (!child) {                                                                                          \
			place->shared = !is_file || (deeper);                                                          \
			goto found;                                                                                    \
		}                                                                                                      \
		node = child;                                                                                          \
	} while (0)

static __always_inline void fs_nowhere(struct fs_place *place, const struct dentry *dentry)
{
	place->dentry = (__u64)dentry;
	place->rights = 0;
	place->flags = 0;
	place->rule = SBPF_NO_RULE;
	place->exec_rule = SBPF_NO_RULE;
	place->covered = 0;
	place->exact = 0;
	place->shared = 0;
}

/* The deepest node above or at the dentry: upwards to the first inode that is one, from there down again by names,
 * which also hold for what was created or replaced since. A rename meanwhile is seen before or after, at each step;
 * whatever a task in the sandbox can rename has the same rights before and after. */
static __noinline int fs_find(void *policy, struct dentry *dentry, struct fs_place *place)
{
	const struct sbpf_fs_node *node, *child;
	struct inode *inode = inode_of(dentry);
	int is_file = !is_directory(inode);
	struct fs_walk walk = {.policy = policy};
	__u64 passed;

	inode_home(&walk.home, dentry->d_sb);
	fs_nowhere(place, dentry);
	if (is_file) {
		node = NULL;
		if (inode && !inode_borrows_numbers(walk.home.magic))
			node = fs_node_of(policy, &walk.home, inode, 0);
		if (node) {
			place->covered = 1;
			goto exact;
		}
		walk.entry[0] = (__u64)dentry;
		if (dentry->d_parent == dentry)
			return 0;
		dentry = dentry->d_parent;
	}
	walk.at = dentry;
	SBPF_REPEAT(SBPF_FS_MAX_WALK, fs_step, &walk);
	node = walk.node;
	if (!node)
		return 0;
	place->covered = 1;
	place->shared = 1;
	passed = walk.steps + is_file;
	FS_DOWN(0, passed > 1);
	FS_DOWN(1, passed > 2);
	FS_DOWN(2, passed > 3);
	FS_DOWN(3, passed > 4);
	FS_DOWN(4, passed > 5);
	FS_DOWN(5, passed > 6);
	FS_DOWN(6, passed > 7);
	FS_DOWN(7, 0);
	/* Directories that rules named are gone, and stand here anew: what the rules beneath say is out of reach (I3).
	 */
	if (passed > SBPF_FS_NAME_DEPTH) {
		place->covered = !(node->flags & SBPF_FS_NAMED);
		goto found;
	}
exact:
	place->exact = 1;
	place->flags = node->flags;
	place->shared = !is_file && !(node->flags & SBPF_FS_NAMED);
found:
	place->rights = node->rights;
	place->rule = node->rule;
	place->exec_rule = node->exec_rule;
	place->flags |= node->flags & (SBPF_FS_DENY_WRITABLE | SBPF_FS_PINNED);
	return 0;
}

enum fs_applies {
	FS_FREE = 0, /* the policy has no rules for paths */
	FS_JUDGED = 1,
	FS_LOST = 2 /* no policy: deny (I3) */
};

/* A policy, as far as it is about paths. */
struct fs_rules {
	void *policy;
	__u32 unjudged;	   /* enum sbpf_fs_rights that it has no rules about */
	__u32 places_only; /* of struct sbpf_policy_header, exec_places_only */
};

static __always_inline enum fs_applies fs_rules_of(void *policy, struct fs_rules *rules)
{
	const struct sbpf_policy_header *header;

	rules->policy = policy;
	if (!rules->policy)
		return FS_LOST;
	header = sbpf_header_of(rules->policy);
	if (!header)
		return FS_LOST;
	rules->unjudged = 0;
	if (!(header->flags & SBPF_POLICY_FS))
		rules->unjudged |= SBPF_FS_READ | SBPF_FS_WRITE;
	if (!(header->flags & SBPF_POLICY_EXEC))
		rules->unjudged |= SBPF_FS_EXEC;
	rules->places_only = header->exec_places_only;
	return header->flags & SBPF_POLICY_PATHS ? FS_JUDGED : FS_FREE;
}

/* Does the sandbox's policy judge paths, and which is it? The record's flag spares the others two lookups. */
static __always_inline enum fs_applies fs_policy(const struct sbpf_sandbox *sandbox, struct fs_rules *rules)
{
	return sandbox->flags & SBPF_SANDBOX_FS ? fs_rules_of(sandbox_policy(sandbox), rules) : FS_FREE;
}

#endif
