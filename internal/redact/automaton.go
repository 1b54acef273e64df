package redact

// An automaton finds words in text, all of them in one pass (Aho and Corasick
// 1975). Its edges are lists and not tables, since almost every node has one.
type automaton struct {
	nodes []node
	first [256]int32 // the nodes of one character; zero is the root
	most  int        // the length of the longest word
}

// A node stands for a beginning of some word.
type node struct {
	child, sibling int32 // zero means none
	fail           int32 // the longest beginning that this one ends in
	depth          int32 // how long the beginning is
	more           int32 // the length of the longest end of it that some word goes on from
	word           int32 // the length of the longest word that this one ends in
	char           byte
}

func build(words []string) *automaton {
	size := 1
	for _, w := range words {
		size += len(w)
	}
	a := &automaton{nodes: make([]node, 1, size)}
	for _, w := range words {
		a.add(w)
	}
	// Breadth first: a node's fail is nearer to the root than it is.
	queue := make([]int32, 0, len(a.nodes))
	for n := a.nodes[0].child; n != 0; n = a.nodes[n].sibling {
		a.ends(&a.nodes[n])
		queue = append(queue, n)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for n := a.nodes[parent].child; n != 0; n = a.nodes[n].sibling {
			x := &a.nodes[n]
			x.fail = a.step(a.nodes[parent].fail, x.char)
			a.ends(x)
			queue = append(queue, n)
		}
	}
	return a
}

// ends fills in what x has of its fail, which is complete.
func (a *automaton) ends(x *node) {
	fail := a.nodes[x.fail]
	x.word = max(x.word, fail.word)
	if x.more = fail.more; x.child != 0 {
		x.more = x.depth
	}
}

func (a *automaton) add(word string) {
	at := int32(0)
	for i := range len(word) {
		next := a.child(at, word[i])
		if next == 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, node{sibling: a.nodes[at].child, depth: a.nodes[at].depth + 1, char: word[i]})
			a.nodes[at].child = next
			if at == 0 {
				a.first[word[i]] = next
			}
		}
		at = next
	}
	a.nodes[at].word = int32(len(word))
	a.most = max(a.most, len(word))
}

func (a *automaton) child(at int32, c byte) int32 {
	if at == 0 {
		return a.first[c]
	}
	n := a.nodes[at].child
	for n != 0 && a.nodes[n].char != c {
		n = a.nodes[n].sibling
	}
	return n
}

// step returns where c leads from a node.
func (a *automaton) step(at int32, c byte) int32 {
	for at != 0 {
		if next := a.child(at, c); next != 0 {
			return next
		}
		at = a.nodes[at].fail
	}
	return a.first[c]
}
