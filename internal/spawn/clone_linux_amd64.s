#include "textflag.h"

// func clone(nr, a1, a2, a3, a4, a5 uintptr, state unsafe.Pointer, entry uintptr) uintptr
TEXT ·clone(SB),NOSPLIT|NOFRAME,$0-72
	MOVQ	nr+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	MOVQ	a4+32(FP), R10
	MOVQ	a5+40(FP), R8
	MOVQ	state+48(FP), R12
	MOVQ	entry+56(FP), R13
	SYSCALL
	TESTQ	AX, AX
	JZ	made
	MOVQ	AX, ret+64(FP)
	RET
made:
	// On the new stack, as Go calls a function with one argument. A wrapper of
	// the compiler's would look for a goroutine, and there is none.
	XORL	BP, BP
	XORL	R14, R14
	XORPS	X15, X15
	MOVQ	R12, AX
	SUBQ	$32, SP	// where the function may keep its argument
	CALL	R13
	INT	$3
