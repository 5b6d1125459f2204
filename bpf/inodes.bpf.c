// SPDX-License-Identifier: GPL-2.0-only
/* The agent's question which inodes its open descriptors are, as the hooks see them: stat(2) gives other numbers on
 * overlayfs and btrfs. An iterator over the files of the one task that its link names; attached to nothing. */
#include "inode.h"
#include "abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

SEC("iter/task_file")
int sbpf_inodes(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct sbpf_open_inode out = {};
	struct inode_home home;
	struct inode *inode;

	if (!file)
		return 0;
	inode = file->f_inode;
	if (!inode)
		return 0;
	out.fd = ctx->fd;
	out.mode = inode->i_mode;
	inode_home(&home, inode->i_sb);
	out.inode.ino = inode_number(home.magic, inode);
	home.inode = (__u64)inode;
	out.inode.dev = inode_dev(&home);
	out.inode.generation = inode_generation(home.magic, inode);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
