package sign

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
)

// PayloadType is that of in-toto statements in DSSE envelopes.
const PayloadType = "application/vnd.in-toto+json"

// An Envelope is a signed text, as DSSE (secure-systems-lab/dsse) has it.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base 64
	Signatures  []Signature `json:"signatures"`
}

// A Signature is one of an envelope's.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base 64
}

// Encoding is exactly what is signed for a statement.
func Encoding(payload []byte) []byte { return encoding(PayloadType, payload) }

func encoding(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// Seal signs a payload of another type.
func (k *Key) Seal(kind string, payload []byte) Envelope {
	sig := ed25519.Sign(k.private, encoding(kind, payload))
	return Envelope{
		PayloadType: kind, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []Signature{{KeyID: k.ID(), Sig: base64.StdEncoding.EncodeToString(sig)}},
	}
}

// Unseal returns the payload of an envelope that Seal made with this key. Only what
// is written exactly as that writes it is believed.
func (p *Public) Unseal(kind string, text []byte) ([]byte, error) {
	var e Envelope
	if err := json.Unmarshal(text, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("it isn't an envelope: %w", err)
	}
	again, err := json.Marshal(e)
	switch {
	case err != nil:
		return nil, err
	case string(again) != string(text):
		return nil, errors.New("it isn't written as envelopes are")
	case e.PayloadType != kind:
		return nil, fmt.Errorf("its payload is a %.100q and not a %s", e.PayloadType, kind)
	case len(e.Signatures) != 1 || e.Signatures[0].KeyID != p.ID():
		return nil, errors.New("it isn't signed by this key")
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	sig, sigErr := base64.StdEncoding.Strict().DecodeString(e.Signatures[0].Sig)
	if err != nil || sigErr != nil {
		return nil, errors.New("it isn't in base 64")
	}
	if base64.StdEncoding.EncodeToString(payload) != e.Payload || base64.StdEncoding.EncodeToString(sig) != e.Signatures[0].Sig {
		return nil, errors.New("it isn't written as base 64 is") // line breaks are read over
	}
	if !ed25519.Verify(p.key, encoding(kind, payload), sig) {
		return nil, errors.New("its signature doesn't fit")
	}
	return payload, nil
}

// Text encodes an envelope in the one form that Unseal reads.
func (e Envelope) Text() ([]byte, error) { return json.Marshal(e) }

// Envelope signs a statement.
func (k *Key) Envelope(statement []byte) Envelope {
	sig := ed25519.Sign(k.private, Encoding(statement))
	return Envelope{
		PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []Signature{{KeyID: k.ID(), Sig: base64.StdEncoding.EncodeToString(sig)}},
	}
}

// OpenEnvelope returns the statement of an envelope that this key signed.
func (p *Public) OpenEnvelope(text []byte) ([]byte, error) {
	var e Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("it isn't an envelope: %w", err)
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("its payload is a %.100q and not a statement", e.PayloadType)
	}
	statement, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	if err != nil {
		return nil, errors.New("its payload isn't in base 64")
	}
	for _, s := range e.Signatures {
		sig, err := base64.StdEncoding.Strict().DecodeString(s.Sig)
		if err == nil && ed25519.Verify(p.key, Encoding(statement), sig) {
			return statement, nil
		}
	}
	return nil, errors.New("no signature of this key fits it")
}
