//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"paddock/internal/lineage"
	"paddock/internal/testproc"
	"paddock/internal/trust"
)

// The test binary plays paddock itself, and prog: the program that is run.
func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"paddock": play, "prog": prog})
}

// play is paddock on a machine whose floor is where the test says, and may be the
// user's own, and keeps accounts as the server does.
func play() int {
	of := lineage.System()
	of.Floor, of.Keeper = os.Getenv("TEST_FLOOR"), trust.User()
	keepAccounts()
	return run(of)
}

// prog does what its first word says.
func prog() int {
	verb, args := "", []string(nil)
	if len(os.Args) > 1 {
		verb, args = os.Args[1], os.Args[2:]
	}
	switch verb {
	case "say": // WORD…: to standard output, a line each
		for _, word := range args {
			fmt.Println(word)
		}
	case "complain": // WORD…: to standard error
		for _, word := range args {
			fmt.Fprintln(os.Stderr, word)
		}
	case "both": // one line to each
		fmt.Println("out")
		fmt.Fprintln(os.Stderr, "err")
	case "exit": // N
		return number(args)
	case "die": // N: by this signal
		signal.Reset()
		if err := syscall.Kill(os.Getpid(), syscall.Signal(number(args))); err != nil {
			return 99
		}
		forever()
	case "args": // as JSON
		if err := json.NewEncoder(os.Stdout).Encode(os.Args); err != nil {
			return 99
		}
	case "env":
		for _, e := range os.Environ() {
			fmt.Println(e)
		}
	case "reach": // LISTED UNLISTED
		return reach(args)
	case "spell": // LISTED PORT
		return spell(args)
	case "ask", "ask-bare": // URL…
		return asking(verb == "ask-bare", args)
	case "until-ask": // FILE URL…
		waitForFile(args[0])
		return asking(false, args[1:])
	case "hog": // uses memory without end
		for all := [][]byte{}; ; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "take": // KIND N: bytes of the disk
		return taking(args[0], number(args[1:]))
	case "open-all": // files until there is no more
		for n := 0; ; n++ {
			if _, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0); err != nil {
				fmt.Println(cause(err), "after", n)
				return 0
			}
		}
	case "pwd":
		dir, err := os.Getwd()
		if err != nil {
			return 99
		}
		fmt.Println(dir)
	case "copy": // standard input to standard output
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 99
		}
	case "fill": // N bytes
		w := bufio.NewWriter(os.Stdout)
		if _, err := w.Write(bytes.Repeat([]byte("0123456789abcde\n"), number(args)/16)); err != nil || w.Flush() != nil {
			return 98
		}
	case "count": // N lines, each another
		w := bufio.NewWriter(os.Stdout)
		for i := range number(args) {
			fmt.Fprintln(w, "line", i)
		}
		if w.Flush() != nil {
			return 98
		}
	case "bytes": // not UTF-8
		if _, err := os.Stdout.WriteString("\xff\x00\xfe\n"); err != nil {
			return 98
		}
	case "wait": // says that it is there and stays; ends by any signal
		fmt.Println("ready")
		forever()
	case "polite": // ends with status 5 when asked by INT, HUP or TERM
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM)
		fmt.Println("ready")
		fmt.Println(<-asked)
		return 5
	case "stubborn": // ignores all that can be ignored
		signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "until": // FILE: says that it is there, goes on when FILE is there
		fmt.Println("ready")
		waitForFile(args[0])
		fmt.Println("done")
	default:
		return 97
	}
	return 0
}

// forever never returns. A bare select would be found dead by the runtime.
func forever() {
	for range time.Tick(time.Hour) {
	}
}

func number(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 96
	}
	return n
}
