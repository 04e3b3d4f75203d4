/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 of Ethernet by carry-less multiplication, in vectors of 128, 256 and 512 bits, and the
 * same while copying.
 *
 * A vector register holds the bytes as in memory: its lowest bit is the coefficient of the highest
 * power of x. Four accumulators work in parallel, as a multiplication takes several cycles but one
 * can start in each. Folding an accumulator over N bits multiplies its halves by x^(N+64) and x^N
 * mod P; the product of two 64-bit halves is one bit short of the register, so the factors are
 * those of N - 1.
 *
 * Callers must own the vector registers.
 */
#include <linux/cfi_types.h>
#include <linux/linkage.h>

/* x^(N+63) mod P and x^(N-1) mod P, in the upper half of a quadword each */
	.section	.rodata, "a", @progbits
	.balign	16
.Lfold_128:
	.quad	0x65673b4600000000, 0x9ba54c6f00000000
.Lfold_256:
	.quad	0x9570d49500000000, 0x01b5fd1d00000000
.Lfold_512:
	.quad	0x653d982200000000, 0xcad38e8f00000000
.Lfold_1024:
	.quad	0x7d657a1000000000, 0x7406fa9500000000
.Lfold_2048:
	.quad	0x7cc8e1e700000000, 0x03f9f86300000000
/* x^95 and x^31 mod P: the 128 bits times x^32, in 96 bits */
.Lfold_last:
	.quad	0xccaa009e00000000, 0x0000000100000000
/* Barrett: x^96 / P without its lowest coefficient, and P without x^32 */
.Lbarrett:
	.quad	0xb4e5b025f7011641, 0xedb8832000000000
/* Shuffles: entry 16 - r moves bytes up by r, entry 16 + r down by r; 0x80 makes zeros. */
.Lshift:
	.octa	0x80808080808080808080808080808080
	.octa	0x0f0e0d0c0b0a09080706050403020100
	.octa	0x80808080808080808080808080808080

#define FIRST	%rdi
#define TO	%rsi
#define FROM	%rdx
#define LEN	%rcx

	.text

/* --- one vector of any width ---------------------------------------------- */

/* acc = acc folded by the factors in k, plus the vector in data */
.macro fold bits, acc, k, data
.if \bits == 128
	movdqa	%xmm\acc, %xmm8
	pclmulqdq $0x00, %xmm\k, %xmm\acc
	pclmulqdq $0x11, %xmm\k, %xmm8
	pxor	%xmm\data, %xmm\acc
	pxor	%xmm8, %xmm\acc
.elseif \bits == 256
	vpclmulqdq $0x00, %ymm\k, %ymm\acc, %ymm8
	vpclmulqdq $0x11, %ymm\k, %ymm\acc, %ymm9
	vpxor	%ymm\data, %ymm8, %ymm8
	vpxor	%ymm8, %ymm9, %ymm\acc
.else
	vpclmulqdq $0x00, %zmm\k, %zmm\acc, %zmm8
	vpclmulqdq $0x11, %zmm\k, %zmm\acc, %zmm9
	vpternlogq $0x96, %zmm\data, %zmm8, %zmm9	/* exclusive or of three */
	vmovdqa64 %zmm9, %zmm\acc
.endif
.endm

/* Load the vector at FROM + offset; when copying, store it at TO + offset as well */
.macro load bits, copy, offset, data
.if \bits == 128
	movdqu	\offset(FROM), %xmm\data
	.if \copy
	movdqu	%xmm\data, \offset(TO)
	.endif
.elseif \bits == 256
	vmovdqu	\offset(FROM), %ymm\data
	.if \copy
	vmovdqu	%ymm\data, \offset(TO)
	.endif
.else
	vmovdqu64 \offset(FROM), %zmm\data
	.if \copy
	vmovdqu64 %zmm\data, \offset(TO)
	.endif
.endif
.endm

.macro factors bits, from, k
.if \bits == 128
	movdqa	\from(%rip), %xmm\k
.elseif \bits == 256
	vbroadcasti128 \from(%rip), %ymm\k
.else
	vbroadcasti32x4 \from(%rip), %zmm\k
.endif
.endm

.macro advance copy, bytes
	add	$\bytes, FROM
	.if \copy
	add	$\bytes, TO
	.endif
.endm

/*
 * XOR the CRC so far into the first four bytes of the message, and the mask into the next four. The
 * registers still hold a process's values: movq would keep those above 128 bits, vmovq clears them.
 */
.macro begin bits, acc
.if \bits == 128
	movq	FIRST, %xmm8
	pxor	%xmm8, %xmm\acc
.elseif \bits == 256
	vmovq	FIRST, %xmm8
	vpxor	%ymm8, %ymm\acc, %ymm\acc
.else
	vmovq	FIRST, %xmm8
	vpxorq	%zmm8, %zmm\acc, %zmm\acc
.endif
.endm

/* --- the message ---------------------------------------------------------- */

/* Fold the remaining whole vectors into accumulator 0 with the factors in 4 */
.macro fold_more bits, copy
	sub	$(\bits / 8), LEN
	jb	.Lmore_end_\@
.Lnext_\@:
	load	\bits, \copy, 0, 10
	fold	\bits, 0, 4, 10
	advance	\copy, (\bits / 8)
	sub	$(\bits / 8), LEN
	jae	.Lnext_\@
.Lmore_end_\@:
	add	$(\bits / 8), LEN
.endm

/*
 * Fold all whole vectors into accumulator 0, four at a time while there are four; LEN is what is
 * left then.
 */
.macro fold_vectors bits, copy, fold_four
	cmp	$(\bits / 2), LEN
	jb	.Lone_\@
	load	\bits, \copy, 0, 0
	load	\bits, \copy, (\bits / 8), 1
	load	\bits, \copy, (\bits / 4), 2
	load	\bits, \copy, (\bits / 8 * 3), 3
	begin	\bits, 0
	factors	\bits, \fold_four, 4
	advance	\copy, (\bits / 2)
	sub	$\bits, LEN
	jb	.Lfour_end_\@
.Lfour_\@:
	load	\bits, \copy, 0, 10
	fold	\bits, 0, 4, 10
	load	\bits, \copy, (\bits / 8), 11
	fold	\bits, 1, 4, 11
	load	\bits, \copy, (\bits / 4), 10
	fold	\bits, 2, 4, 10
	load	\bits, \copy, (\bits / 8 * 3), 11
	fold	\bits, 3, 4, 11
	advance	\copy, (\bits / 2)
	sub	$(\bits / 2), LEN
	jae	.Lfour_\@
.Lfour_end_\@:
	add	$(\bits / 2), LEN
	factors	\bits, .Lfold_\bits, 4
	fold	\bits, 0, 4, 1
	fold	\bits, 0, 4, 2
	fold	\bits, 0, 4, 3
	jmp	.Lmore_\@
.Lone_\@:
	load	\bits, \copy, 0, 0
	begin	\bits, 0
	factors	\bits, .Lfold_\bits, 4
	advance	\copy, (\bits / 8)
	sub	$(\bits / 8), LEN
.Lmore_\@:
	fold_more \bits, \copy
.endm

/*
 * Fold up to 15 more bytes. The accumulator and these are treated as two vectors, the first of
 * which starts with zeros. When copying, read them from the destination, where the caller has
 * copied them, since the source may change.
 */
.macro fold_tail copy
	test	LEN, LEN
	jz	.Lno_tail_\@
	.if \copy
	movdqu	-16(TO, LEN), %xmm1
	.else
	movdqu	-16(FROM, LEN), %xmm1
	.endif
	lea	.Lshift(%rip), %rax
	movdqa	%xmm0, %xmm2
	movdqu	16(%rax, LEN), %xmm3
	pshufb	%xmm3, %xmm2			/* the lower end of the second */
	movdqu	(%rax, LEN), %xmm3
	pshufb	%xmm3, %xmm0			/* the first */
	movdqa	%xmm0, %xmm5
	movdqa	%xmm3, %xmm0
	pblendvb %xmm0, %xmm2, %xmm1		/* the second */
	movdqa	%xmm5, %xmm0
	fold	128, 0, 4, 1
.Lno_tail_\@:
.endm

/* 128 bits to 32: times x^32, then the remainder of the division by P */
.macro reduce
	movdqa	.Lfold_last(%rip), %xmm4
	movdqa	%xmm0, %xmm1
	pclmulqdq $0x00, %xmm4, %xmm0
	pclmulqdq $0x11, %xmm4, %xmm1
	movdqa	.Lbarrett(%rip), %xmm5
	pxor	%xmm1, %xmm0
	movdqa	%xmm0, %xmm1
	psrldq	$4, %xmm1
	movdqa	%xmm1, %xmm2
	pclmulqdq $0x00, %xmm5, %xmm1
	pclmulqdq $0x10, %xmm5, %xmm1
	psrlq	$32, %xmm0
	psrlq	$31, %xmm1
	pxor	%xmm1, %xmm0
	pextrd	$2, %xmm0, %eax
.endm

/* --- entries -------------------------------------------------------------- */

/* Use 128-bit vectors for less than one vector */
.macro crc32 bits, copy, fold_four
.if \bits > 128
	cmp	$(\bits / 8), LEN
	jb	.Lshort_\@
	fold_vectors \bits, \copy, \fold_four
.if \bits == 512
	vextracti64x4 $1, %zmm0, %ymm1
	factors	256, .Lfold_256, 4
	fold	256, 0, 4, 1
.endif
	/* Only SSE after vzeroupper: in the cleared state mixing the two costs nothing */
	vextracti128 $1, %ymm0, %xmm1
	vzeroupper
	factors	128, .Lfold_128, 4
	fold	128, 0, 4, 1
	fold_more 128, \copy
	fold_tail \copy
	reduce
	RET
.Lshort_\@:
.endif
	fold_vectors 128, \copy, .Lfold_512
	fold_tail \copy
	reduce
	RET
.endm

/*
 * u32 rhca_crc32_BITS(u64 first, const void *from, unsigned long bytes)
 * u32 rhca_crc32_copy_BITS(u64 first, void *to, const void *from,
 *			    unsigned long bytes)
 *
 * At least 16 bytes. The copying ones copy whole 16 bytes; the caller has copied
 * the rest.
 */
.macro entry bits, fold_four
SYM_TYPED_FUNC_START(rhca_crc32_\bits)
	mov	%rdx, %rcx
	mov	%rsi, %rdx
	crc32	\bits, 0, \fold_four
SYM_FUNC_END(rhca_crc32_\bits)

SYM_TYPED_FUNC_START(rhca_crc32_copy_\bits)
	crc32	\bits, 1, \fold_four
SYM_FUNC_END(rhca_crc32_copy_\bits)
.endm

	entry	128, .Lfold_512
	entry	256, .Lfold_1024
	entry	512, .Lfold_2048
