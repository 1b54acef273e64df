#include "textflag.h"

// func clone(nr, a1, a2, a3, a4, a5 uintptr, state unsafe.Pointer, entry uintptr) uintptr
TEXT ·clone(SB),NOSPLIT|NOFRAME,$0-72
	MOVD	nr+0(FP), R8
	MOVD	a1+8(FP), R0
	MOVD	a2+16(FP), R1
	MOVD	a3+24(FP), R2
	MOVD	a4+32(FP), R3
	MOVD	a5+40(FP), R4
	MOVD	state+48(FP), R10
	MOVD	entry+56(FP), R11
	SVC
	CBZ	R0, made
	MOVD	R0, ret+64(FP)
	RET
made:
	// On the new stack, as Go calls a function with one argument. A wrapper of
	// the compiler's would look for a goroutine, and there is none.
	MOVD	ZR, R29
	MOVD	R10, R0
	SUB	$32, RSP	// where the function may keep its argument
	BL	(R11)
	BRK
