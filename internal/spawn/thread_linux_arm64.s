//go:build cgo

#include "textflag.h"

// func threadRegister() uintptr
TEXT ·threadRegister(SB),NOSPLIT,$0-8
	MRS	TPIDR_EL0, R0
	MOVD	R0, ret+0(FP)
	RET
