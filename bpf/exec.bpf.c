// SPDX-License-Identifier: GPL-2.0-only
/* Rules for programs. mmap_file, which they share with the rules for files, is in filesystem.bpf.c.
 *
 * hook                 kernel                            refuses                            does not see
 * bprm_check_security  search_binary_handler, for a      running a program that the rules   code that an allowed interpreter or
 *                      script and for its interpreter;   do not allow, however it is        loader reads as data; programs that
 *                      not for an ELF interpreter,       named: path, descriptor,           run already
 *                      which mmap_file sees              symbolic link, another mount
 * mmap_file            vm_mmap_pgoff, do_shmat, elf_map  mapping such a file to execute it  anonymous memory; mappings made before
 * file_mprotect        mprotect, pkey_mprotect           making such a mapping executable   a private mapping of an allowed file
 *                                                                                           that was written to: as
 *                                                                                           anonymous
 */
#include "exec.h"

SEC("lsm/bprm_check_security")
int BPF_PROG(hook_bprm_check_security, struct linux_binprm *bprm)
{
	int launched = end_launch(bprm->file);

	LSM_GATE(bprm_check_security, sandboxes);
	if (unlikely(launched))
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_bprm_check_security, holds_control_file(),
			SBPF_REASON_GUARD, 0);
	EXEC_ASK(sandboxes, bprm_check_security, bprm->file);
	return 0;
}

SEC("lsm/file_mprotect")
int BPF_PROG(hook_file_mprotect, struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot)
{
	struct file *file;

	if (!((reqprot | prot) & PROT_EXEC))
		return 0;
	file = vma->vm_file;
	if (!file || vma->vm_flags & VM_EXEC)
		return 0;
	LSM_GATE(file_mprotect, sandboxes);
	EXEC_ASK(sandboxes, file_mprotect, file);
	return 0;
}
