//go:build cgo

#include "textflag.h"

// func threadRegister() uintptr
TEXT ·threadRegister(SB),NOSPLIT,$8-8
	MOVQ	$0x1003, DI	// ARCH_GET_FS
	LEAQ	0(SP), SI
	MOVQ	$158, AX	// arch_prctl
	SYSCALL
	MOVQ	0(SP), AX
	MOVQ	AX, ret+0(FP)
	RET
