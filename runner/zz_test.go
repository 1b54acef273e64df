//go:build linux
package runner
import ("testing";"time";"os";"path/filepath")
func TestZZ(t *testing.T){
 w := newWorld(t, permissive+"", func(o *Options) { o.Warm = 4 })
 for i:=0;i<6;i++ {
  <-time.After(100*time.Millisecond)
  run, err := w.r.Start(t.Context(), Command{Argv: []string{"sh", "-c", ":"}})
  if err!=nil {t.Fatal(err)}
  w.r.Wait(t.Context(), run.ID)
  m,_:=filepath.Glob(w.state+"/runs/*/"+string(run.ID)+"/supervisor.log")
  b,_:=os.ReadFile(m[0]); os.Stderr.Write(b)
  println("T 0 ----")
 }
}
