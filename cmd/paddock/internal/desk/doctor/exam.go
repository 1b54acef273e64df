package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis/scene"
	"paddock/internal/contain/probe"
	"paddock/internal/policy"
)

// attempt lets a program attempt everything in the scene, by the way that every
// run takes: judged by a policy, started, supervised and recorded.
func (d commands) attempt(ctx context.Context, s *scene.Scene, report *LevelReport) (err error) {
	path, err := d.stage(ctx, s.At("stage"))
	if err != nil {
		report.Problem = err.Error()
		return nil //nolint:nilerr // the report says it
	}
	run, out, err := d.run(ctx, s, s.Policy("paddock-stage", path, "probe", s.At("shown"), ""), []string{"paddock-stage", "probe"})
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		report.Problem = refusal.Message
		return nil
	}
	if err != nil {
		return err
	}
	report.Isolation, report.Tree, report.Enforced = run.Isolation, run.Tree, run.Enforced
	if run.State == paddock.FailedToStart {
		report.Problem = "a run can't be started: " + desk.Describe(run)
		return nil
	}
	results, err := read(out)
	if err == nil {
		err = s.Outside(ctx, results)
	}
	if err != nil {
		return fmt.Errorf("what was attempted at %s: %w; the program: %s", s.Level, err, desk.Describe(run))
	}
	listed, err := d.listed(ctx, s)
	report.take(append(results, listed))
	return err
}

// listed lets a program that is listed start one that isn't, where a policy can say so.
func (d commands) listed(ctx context.Context, s *scene.Scene) (probe.Result, error) {
	result := probe.Result{Check: "exec_listed"}
	untried := func(why string) (probe.Result, error) {
		result.Detail = why
		return result, nil
	}
	if _, err := os.Stat(s.Unlisted()); s.Level == paddock.Off || err != nil {
		return untried("there was nothing to attempt it on")
	}
	run, _, err := d.run(ctx, s, s.Policy("env", scene.Starter, s.Unlisted(), s.At("shown"), ", exec: listed"), []string{"env", s.Unlisted()})
	var refusal *paddock.Refusal
	switch {
	case errors.As(err, &refusal):
		return untried(refusal.Message)
	case err != nil:
		return result, err
	case run.State == paddock.Exited && run.Outcome != nil && run.Outcome.Reason.ExitCode != nil:
		const cannotExecute = 126 // env's status
		switch *run.Outcome.Reason.ExitCode {
		case cannotExecute:
			result.Held, result.Tried, result.Detail = true, true, "start a program that isn't listed: refused"
			return result, nil
		case 0:
			result.Tried, result.Detail = true, "start a program that isn't listed: done"
			return result, nil
		}
	}
	return untried(scene.Starter + ": " + desk.Describe(run))
}

// run starts a program under a throw-away policy, and returns its record and what it
// printed.
func (d commands) run(ctx context.Context, s *scene.Scene, text []byte, argv []string) (run paddock.Run, out io.Reader, err error) {
	compiled, err := policy.Load(s.At("policy.yaml"), text)
	if err != nil {
		return run, nil, fmt.Errorf("the throw-away policy: %w", err)
	}
	v, err := d.Judge(ctx, s.At("state"), compiled)
	if err != nil {
		return run, nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	targets, err := json.Marshal(s.Targets)
	if err != nil {
		return run, nil, err
	}
	stdin := string(targets)
	run, err = v.Start(ctx, paddock.Request{
		Principal: d.Operator(), Door: paddock.DoorCLI, Tied: true,
		Command: paddock.Command{Argv: argv, Stdin: paddock.Stdin{Text: &stdin}},
	})
	if err != nil || run.State == paddock.FailedToStart {
		return run, nil, err
	}
	var printed bytes.Buffer
	if err := v.Follow(ctx, d.Operator(), run.ID, paddock.Stdout, 0, &printed); err != nil {
		return run, nil, err
	}
	run, err = v.Wait(ctx, d.Operator(), run.ID, 0)
	return run, &printed, err
}

// read reads results until the end. A program that was ended in the middle has
// said what it has said: what is missing isn't taken for held.
func read(r io.Reader) ([]probe.Result, error) {
	var results []probe.Result
	for decoder := json.NewDecoder(r); ; {
		var result probe.Result
		err := decoder.Decode(&result)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return results, nil
		}
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
}
