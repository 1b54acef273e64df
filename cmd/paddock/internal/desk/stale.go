package desk

import (
	"github.com/spf13/cobra"

	"paddock/internal/app/plans"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// Stale is what is said of which settled things go.
type Stale struct {
	age  string
	most int
}

// Flags adds those that say it, of things that are called so.
func (s *Stale) Flags(cmd *cobra.Command, things string) {
	cmd.Flags().StringVar(&s.age, "age", "", things+" that were as they are `TIME` ago, such as 30d")
	cmd.Flags().IntVar(&s.most, "most", 0, "all but the newest `N` "+things)
}

// Said reads them.
func (s *Stale) Said(cmd *cobra.Command) (stale plans.Stale, err error) {
	if s.age != "" || !cmd.Flags().Changed("most") {
		old, err := unit.ParseDuration(s.age)
		if err != nil {
			return stale, Usage("--age "+Quote(s.age)+": "+err.Error(), "as in --age 30d, or --most 100 for all but the newest 100")
		}
		stale.Age = old
	}
	if cmd.Flags().Changed("most") {
		if s.most < 0 {
			return stale, Usage("--most is less than 0", "as in --most 100")
		}
		stale.Most = &s.most
	}
	return stale, nil
}
