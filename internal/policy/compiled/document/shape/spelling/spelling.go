// Package spelling finds the word that somebody most probably meant, and writes
// one so that a shell takes it as it is.
//
// # Limits
//
// It compares letters, up to two slips, and knows no language.
package spelling

import "slices"

// Nearest returns the one of words that s is most probably a slip of the pen
// for, or "".
func Nearest(s string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		most := min(2, (len(w)+1)/3)
		if d := slip(s, w); d <= most && d < least {
			best, least = w, d
		}
	}
	return best
}

// slip counts the letters to add, drop, change or swap to get from a to b; it
// gives up (with 99) when the lengths alone make it more than two.
func slip(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 99
	}
	width := len(b) + 1
	rows := [3][]int{make([]int, width), make([]int, width), make([]int, width)}
	for j := range width {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, now := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j < width; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = slices.Min([]int{old[j] + 1, now[j-1] + 1, old[j-1] + cost})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], older[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][width-1]
}
