/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* How a policy is laid out in its map: keys, values and header. A part of abi.h, which includes it. */
#ifndef SBPF_ABI_POLICY_H
#define SBPF_ABI_POLICY_H

/* ---- policy: one hash map per generation of a sandbox's policy ----
 * The whole policy is one inner map, so that one update of the outer map swaps all of it (I2). It is frozen after it
 * was filled: no bpf(2) call of anyone can edit it again. */
enum sbpf_rule_kind {
	SBPF_RULE_HEADER = 0,  /* port: enum sbpf_header_slot */
	SBPF_RULE_CONNECT = 1, /* destinations, of connect and send */
	SBPF_RULE_BIND = 2,    /* local addresses, of bind and listen */
	/* What exists: struct sbpf_fs_inode in addr, match 1 if a directory -> struct sbpf_fs_node. */
	SBPF_RULE_FS_INODE = 3,
	/* An entry of a directory, existing or not: struct sbpf_fs_name -> struct sbpf_fs_node. */
	SBPF_RULE_FS_NAME = 4,
	/* An abstract socket: struct sbpf_fs_name of its name in addr, node 0 -> struct sbpf_fs_node. */
	SBPF_RULE_UNIX = 5,
	SBPF_RULE_VIA = 6,	 /* where a rule leads its connections: its number in addr -> struct sbpf_via */
	SBPF_RULE_INTERFACE = 7, /* a network interface that may be named: its name in addr */
	SBPF_RULE_KIND_MAX
};

/* Wildcard of sbpf_rule_key.port: the value's ranges decide. No single-port key has it, as its exact flag differs. */
enum sbpf_port_match {
	SBPF_PORT_RANGES = 0, /* key.port is 0; the value holds ranges */
	SBPF_PORT_EXACT = 1,  /* key.port is the port */
	SBPF_PORT_MATCH_MAX
};

/* Protocols as rules know them; MPTCP is judged as TCP, UDP-Lite as UDP. "any" in a policy becomes two keys. */
enum sbpf_proto { SBPF_PROTO_NONE = 0, SBPF_PROTO_TCP = 6, SBPF_PROTO_UDP = 17 };

struct sbpf_rule_key {
	__u8 kind;	 /* enum sbpf_rule_kind */
	__u8 proto;	 /* enum sbpf_proto */
	__u8 prefix_len; /* 0..128, of the v6 or v4-mapped address: 10.0.0.0/8 is 104 */
	__u8 match;	 /* enum sbpf_port_match */
	__u16 port;	 /* host byte order */
	__u16 pad;
	__u8 addr[16]; /* network byte order, v4 as ::ffff:a.b.c.d, host bits zero */
};
SBPF_ASSERT(sizeof(struct sbpf_rule_key) == 24);

struct sbpf_port_range {
	__u16 first; /* host byte order, both ends included */
	__u16 last;
	__u32 rule; /* index of the policy's rule; with SBPF_RULE_PROXIED if it leads elsewhere */
};

#define SBPF_RULE_PROXIED 0x80000000u

/* Unused ranges are empty: first 1, last 0. An exact key has one, of its port. */
struct sbpf_rule {
	__u32 n_ranges;
	__u32 pad;
	struct sbpf_port_range range[SBPF_MAX_RANGES];
};

struct sbpf_via {
	__u8 addr[16]; /* network byte order, v4 as ::ffff:a.b.c.d */
	__u16 port;    /* host byte order */
	__u8 pad[54];
};
SBPF_ASSERT(sizeof(struct sbpf_via) == sizeof(struct sbpf_rule));

/* ---- rules for paths: files and programs ----
 * The paths of all rules form a tree of nodes, "/" its root. Every path component is a node; one that exists is found
 * by its inode, and every node but the root also by its parent node and its name, so that a rule holds for a name that
 * appears later or is replaced. A file's verdict is that of the deepest node on the way from the file up to the root of
 * its filesystem: up to the first inode that is a node, and from there down again by names. */
enum sbpf_fs_rights {
	SBPF_FS_READ = 1u << 0,
	SBPF_FS_WRITE = 1u << 1, /* contents, metadata, and the entry itself: create, delete, rename */
	SBPF_FS_EXEC = 1u << 2,	 /* to be run as a program, or mapped as one; by rules of its own (process.exec) */
	SBPF_FS_TALK = 1u << 3	 /* sockets of the outside there may be talked to; by rules of its own (network.unix) */
};

enum sbpf_fs_flags {
	SBPF_FS_NAMED = 1u << 0,	 /* has child nodes: names below it count */
	SBPF_FS_HOLDS = 1u << 1,	 /* a node without SBPF_FS_WRITE lies beneath: it may not be moved or removed */
	SBPF_FS_RULE = 1u << 2,		 /* a filesystem rule names it; else it has the rights of the node above */
	SBPF_FS_DENY_WRITABLE = 1u << 3, /* SBPF_FS_EXEC is missing only because it may be written */
	SBPF_FS_PINNED = 1u << 4, /* only its inode has SBPF_FS_EXEC: whatever else bears the name is another program */
	/* A node with SBPF_FS_TALK lies beneath: what comes in its place could bring sockets there. */
	SBPF_FS_LEADS = 1u << 5
};

struct sbpf_fs_inode {
	__u64 ino;
	__u32 dev; /* super_block.s_dev, the kernel's encoding */
	__u32 generation;
};

#define SBPF_FS_PIECE_WORDS 6
#define SBPF_FS_PIECE	    (8 * SBPF_FS_PIECE_WORDS) /* bytes */
#define SBPF_FS_PIECES	    6			      /* of the longest name */
SBPF_ASSERT((SBPF_FS_PIECES)*SBPF_FS_PIECE >= 255);

struct sbpf_fs_name {
	__u64 hash; /* sbpf_fs_hash of the name */
	__u32 node; /* of the directory */
	__u32 len;
};

struct sbpf_fs_node {
	__u32 node;   /* its number; "/" is 1 */
	__u32 rights; /* enum sbpf_fs_rights, in effect; of the kinds that the policy judges (enum sbpf_policy_flags) */
	__u32 flags;  /* enum sbpf_fs_flags */
	__u32 rule;   /* of the filesystem rule in effect; SBPF_NO_RULE: the default */
	__u32 exec_rule; /* of the exec rule in effect, likewise */
	__u32 pad;
	/* Of an entry by name: the name's first bytes, then zeros. What is longer goes on in further entries of the
	 * same key, which have nothing else; their port says which piece, from 1 on. */
	__u64 name[SBPF_FS_PIECE_WORDS];
};
/* A record of the iterator sbpf_inodes. */
struct sbpf_open_inode {
	struct sbpf_fs_inode inode;
	__u32 fd;
	__u32 mode; /* with its type */
};

/* Policies that are compared, by their places in the map sbpf_compared. */
enum sbpf_compared {
	SBPF_COMPARED_BEFORE, /* none: it allowed everything */
	SBPF_COMPARED_AFTER,
	SBPF_COMPARED /* so many */
};

enum sbpf_open_file_flags {
	SBPF_OPEN_FILE_LOST = 1u << 0 /* the name by which it was opened is gone, and it has another */
};

/* A record of the iterators sbpf_open_files and sbpf_mapped_files: what is used as the policy before allowed, and the
 * one after does not. */
struct sbpf_open_file {
	__u64 at;	 /* the descriptor; of a mapping its first address */
	__u64 end;	 /* of a mapping, the address behind it; else 0 */
	__u64 ino;	 /* of the file, as stat(2) has it but for overlayfs and FUSE */
	__u32 task;	 /* whose */
	__u32 forbidden; /* enum sbpf_fs_rights */
	__u32 flags;	 /* enum sbpf_open_file_flags */
	__u32 pad;
};

SBPF_ASSERT(sizeof(struct sbpf_open_file) == 40);
SBPF_ASSERT(sizeof(struct sbpf_fs_inode) == 16);
SBPF_ASSERT(sizeof(struct sbpf_open_inode) == 24);
SBPF_ASSERT(sizeof(struct sbpf_fs_name) == 16);
SBPF_ASSERT(sizeof(struct sbpf_fs_node) == sizeof(struct sbpf_rule));

#define SBPF_FS_ROOT_NODE 1
/* Names followed below the deepest directory that is known by its inode; more are denied. */
#define SBPF_FS_NAME_DEPTH 8
#define SBPF_FS_MAX_WALK   64 /* directories from a file to the root of its filesystem */

enum sbpf_policy_flags {
	SBPF_POLICY_AUDIT = 1u << 0,
	SBPF_POLICY_NET_ALLOW_ALL = 1u << 1, /* dangerously_allow_all */
	SBPF_POLICY_FS = 1u << 2,	     /* has filesystem rules; without, files are not judged */
	SBPF_POLICY_UNIX = 1u << 3,	     /* has network.unix; without, no socket of the outside is open */
	SBPF_POLICY_EXEC = 1u << 4,	     /* has exec rules; without, programs are not judged */
	SBPF_POLICY_NET_METADATA = 1u << 5,  /* dangerously_allow_metadata */
	SBPF_POLICY_RECORD = 1u << 6,	     /* record_flows */
	/* Has a filesystem section, which judges devices as files; without, the machine's are closed. */
	SBPF_POLICY_DEVICES = 1u << 7,
	/* Put over files that it forbids and that are open, on the operator's word. */
	SBPF_POLICY_KEPT_FILES = 1u << 8,
	SBPF_POLICY_OWN_LOOPBACK = 1u << 9 /* loopback: private */
};
#define SBPF_POLICY_PATHS (SBPF_POLICY_FS | SBPF_POLICY_EXEC)

/* Socket classes that are denied unless `dangerously_allow_sockets` names them: bits of policy_header.sockets. */
enum sbpf_socket_class {
	SBPF_SOCKET_NORMAL = 0, /* TCP, UDP, AF_UNIX, NETLINK_ROUTE: judged by address, peer and rules */
	SBPF_SOCKET_MPTCP = 1,
	SBPF_SOCKET_UDPLITE = 2,
	SBPF_SOCKET_SCTP = 3,
	SBPF_SOCKET_PING = 4,
	SBPF_SOCKET_RAW = 5,
	SBPF_SOCKET_PACKET = 6,
	SBPF_SOCKET_VSOCK = 7,
	SBPF_SOCKET_ALG = 8,
	SBPF_SOCKET_NETLINK = 9, /* every netlink protocol but NETLINK_ROUTE */
	SBPF_SOCKET_SMC = 10,
	SBPF_SOCKET_TUN = 11,	/* no socket: devices of tun, tap, macvtap, ipvtap, ppp, vhost-net, vhost-vsock */
	SBPF_SOCKET_OTHER = 12, /* never allowed by name; only dangerously_allow_all */
	SBPF_SOCKET_CLASS_MAX
};

/* Header, in the bytes of a struct sbpf_rule. */
struct sbpf_policy_header {
	__u32 flags;   /* enum sbpf_policy_flags */
	__u32 sockets; /* 1 << enum sbpf_socket_class */
	__u8 n_connect_prefixes;
	__u8 n_bind_prefixes;
	__u8 exec_places_only; /* with exec rules: what lies in no place (memfd, deleted files) is not run */
	__u8 pad;
	__u32 generation;
	__u32 n_rules;
	/* Of the host names, and whose answers are believed: another number, other names; 0: none. */
	__u32 host_names_id;
	__u8 image_sha256[32]; /* of every other entry: what verify reads back */
	__u64 fs_files[2];     /* sbpf_fs_file_bit of every FS_INODE entry that is no directory */
};
SBPF_ASSERT(sizeof(struct sbpf_policy_header) == sizeof(struct sbpf_rule));

/* Distinct prefix lengths, longest first: header keys with port 2 (connect) and 3 (bind). */
struct sbpf_prefixes {
	__u8 len[SBPF_MAX_PREFIXES];
	__u8 pad[24];
};
SBPF_ASSERT(sizeof(struct sbpf_prefixes) == sizeof(struct sbpf_rule));

#define SBPF_TRUSTED_PROGRAMS 4

/* Names, for status: header keys with port 1 (identity) and 4 (name). */
struct sbpf_policy_id {
	__u8 policy_sha256[32]; /* of the canonical text */
	__u8 on_loss;		/* enum sbpf_on_loss */
	__u8 n_trusted;
	__u8 trusted[SBPF_TRUSTED_PROGRAMS][8]; /* tags of programs that may run after ours, ascending */
	__u8 pad[6];
};
SBPF_ASSERT(sizeof(struct sbpf_policy_id) == sizeof(struct sbpf_rule));

struct sbpf_policy_name {
	char name[SBPF_NAME_LEN];
	__u8 pad[8];
};
SBPF_ASSERT(sizeof(struct sbpf_policy_name) == sizeof(struct sbpf_rule));

/* Interfaces of the kernel that a policy opens or closes by name. */
enum sbpf_kernel_interface {
	SBPF_KERNEL_PERF = 0,		 /* perf_event_open */
	SBPF_KERNEL_KEYRINGS = 1,	 /* add_key, keyctl, request_key */
	SBPF_KERNEL_USER_NAMESPACES = 2, /* new ones */
	SBPF_KERNEL_USERFAULTFD = 3,
	SBPF_KERNEL_MODULE_REQUESTS = 4, /* that the kernel loads a module because a program asks for what is in it */
	SBPF_KERNEL_IO_URING = 5,	 /* allowed unless the policy denies it; the others the other way round */
	SBPF_KERNEL_MAX
};

/* What is open to processes: header key with port 5. */
struct sbpf_policy_process {
	__u64 capabilities; /* 1 << number: refused over the host unless the policy says so */
	__u32 kernel;	    /* 1 << enum sbpf_kernel_interface: open */
	/* The cgroup's limits, for whoever reads them back; 0: none. */
	__u32 cpu_millis;
	__u64 memory_bytes;
	__u64 processes;
	__u8 pad[40];
};
SBPF_ASSERT(sizeof(struct sbpf_policy_process) == sizeof(struct sbpf_rule));

enum sbpf_header_slot {
	SBPF_SLOT_HEADER = 0,
	SBPF_SLOT_ID = 1,
	SBPF_SLOT_CONNECT_PREFIXES = 2,
	SBPF_SLOT_BIND_PREFIXES = 3,
	SBPF_SLOT_NAME = 4,
	SBPF_SLOT_PROCESS = 5,
	SBPF_SLOT_MAX
};

enum sbpf_on_loss { SBPF_ON_LOSS_FREEZE = 0, SBPF_ON_LOSS_KILL = 1, SBPF_ON_LOSS_ALERT = 2, SBPF_ON_LOSS_MAX };

#endif
