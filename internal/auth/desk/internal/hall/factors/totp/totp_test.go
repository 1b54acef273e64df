package totp_test

import (
	"net/url"
	"testing"
	"time"

	"paddock/internal/auth/desk/internal/hall/factors/totp"
)

// The last six digits of the vectors in appendix B of RFC 6238.
func TestVectors(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		now := time.Unix(at, 0)
		if got := totp.Code(secret, totp.Step(now)); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
		for shift, good := range map[time.Duration]bool{0: true, 30 * time.Second: true, -30 * time.Second: true, 60 * time.Second: false, -60 * time.Second: false} {
			if now.Add(shift).Unix() < 0 {
				continue
			}
			step, ok := totp.Match(secret, want, now.Add(shift))
			if ok != good || ok && step != totp.Step(now) {
				t.Errorf("at %d%+v: %d, %t", at, shift, step, ok)
			}
		}
	}
	for _, bad := range []string{"", "28708", "2870820", "287082 ", "２８７０８２", "\x00", "000000"} {
		if _, ok := totp.Match(secret, bad, time.Unix(59, 0)); ok {
			t.Errorf("%q is right", bad)
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(totp.URI("Paddock at home", "ann", []byte("12345678901234567890")))
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Paddock at home:ann" || u.RawQuery != "issuer=Paddock%20at%20home&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
		t.Errorf("%+v, %v", u, err)
	}
}
