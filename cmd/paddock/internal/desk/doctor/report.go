package doctor

import (
	"paddock"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/contain/probe"
)

// A Report is everything that was found. docs/doctor.md describes its JSON.
type Report struct {
	// OK is what the exit status says.
	OK      bool             `json:"ok"`
	Levels  []LevelReport    `json:"levels"`
	Policy  PolicyReport     `json:"policy"`
	Machine []diagnosis.Fact `json:"machine"`
}

// A LevelReport is what one level gives here.
type LevelReport struct {
	Level     paddock.Level `json:"level"`
	Available bool          `json:"available"`
	// Problem says why it isn't available, or why nothing could be attempted.
	Problem string `json:"problem,omitempty"`
	// Isolation, Tree and Enforced are those of the run that attempted.
	Isolation paddock.Isolation `json:"isolation,omitempty"`
	Tree      paddock.Tree      `json:"tree,omitempty"`
	Enforced  *paddock.Enforced `json:"enforced,omitempty"`
	Checks    []CheckReport     `json:"checks"`
	// Broken is how many promises don't hold.
	Broken int `json:"broken"`
}

// A CheckReport is one attempt at one level.
type CheckReport struct {
	probe.Result
	// Row is the row of docs/threat-model.md.
	Row      string `json:"row"`
	Promised bool   `json:"promised"`
	// Broken is set when it was promised, attempted and not held; then Meaning
	// and Remedy say what that means and what to do.
	Broken  bool   `json:"broken"`
	Meaning string `json:"meaning,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

// A PolicyReport is about the policy that applies where doctor was called.
type PolicyReport struct {
	Path string `json:"path,omitempty"`
	// HeldTo are what the policy extends, and the floor of the machine.
	HeldTo    []string      `json:"held_to,omitempty"`
	Level     paddock.Level `json:"level,omitempty"`
	Available bool          `json:"available"`
	Problem   string        `json:"problem,omitempty"`
	Remedy    string        `json:"remedy,omitempty"`
	// Names is about what it names: what is pinned, and git. One with a remedy can't
	// be used as it is.
	Names []diagnosis.Fact `json:"names,omitempty"`
	none  bool             // nobody has made one, which is no fault of the machine's
}

// take compares results with promises. A check without a result counts as
// broken where it is promised: silence is no proof.
func (r *LevelReport) take(results []probe.Result) {
	got := map[string]probe.Result{}
	for _, result := range results {
		got[result.Check] = result
	}
	for _, c := range probe.Table {
		result, answered := got[c.ID]
		if !answered {
			result = probe.Result{Check: c.ID, Detail: "the program ended before it said anything of this"}
		}
		check := CheckReport{Result: result, Row: c.Row, Promised: c.At(r.Level).Applies(r.Isolation)}
		if check.Promised && !result.Held && (result.Tried || !answered) {
			check.Broken, check.Meaning, check.Remedy = true, c.Meaning, c.Remedy
			r.Broken++
		}
		r.Checks = append(r.Checks, check)
	}
}

// judge says whether all is well: every promise of every level that is there
// holds, and the policy's level is there. A level that was asked for by name has to
// be there.
func (r *Report) judge(named bool) {
	r.OK = r.Policy.Available || r.Policy.none
	for _, f := range r.Policy.Names {
		r.OK = r.OK && f.Remedy == ""
	}
	for _, level := range r.Levels {
		if (level.Available || named) && (level.Problem != "" || level.Broken > 0) {
			r.OK = false
		}
	}
}
