// Package built says which Paddock this is.
//
// # Limits
//
// It knows what the linker and the go command wrote into the program. A program that was
// changed afterwards says the same.
package built

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/control"
	"paddock/internal/executor/stages"
)

// An Info is what this program was made of.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Modified is set when the sources differed from the revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Stage is the path of the supervisor that runs would get, or says that it
	// is inside this program, and StageProblem why there is none.
	Stage        string         `json:"stage,omitempty"`
	StageDigest  paddock.Digest `json:"stage_digest,omitempty"`
	StageProblem string         `json:"stage_problem,omitempty"`
	// Protocol is the version that supervisors are spoken to in.
	Protocol int `json:"protocol"`
}

// Command is paddock version.
func Command(d *desk.Desk, version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which Paddock this is",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			v := This(version)
			v.findStage()
			if d.JSON {
				return d.Object(v)
			}
			f := [][2]string{{"paddock", v.Version}}
			if v.Revision != "" {
				f = append(f, [2]string{"revision", v.Revision + map[bool]string{true: " with changes"}[v.Modified]})
			}
			stage := desk.Plain(v.Stage) + " (" + v.StageDigest.Short() + ", protocol " + strconv.Itoa(v.Protocol) + ")"
			if v.StageProblem != "" {
				stage = desk.Plain(v.StageProblem)
			}
			return d.Fields(append(f, [2]string{"go", v.Go}, [2]string{"platform", v.Platform}, [2]string{"stage", stage}))
		},
	}
}

func (v *Info) findStage() {
	stage, err := stages.Find("")
	switch {
	case err == nil && stage.Path == "":
		v.Stage = "inside this program"
	case err == nil:
		v.Stage = stage.Path
	}
	if err == nil {
		v.StageDigest, err = stage.Sum()
	}
	if err != nil {
		v.StageProblem = err.Error()
	}
}

// This is what this program was made of; version is what the build says, or devel.
func This(version string) Info {
	v := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: control.Protocol}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if version == "devel" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
