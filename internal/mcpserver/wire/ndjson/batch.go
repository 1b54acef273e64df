package ndjson

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"paddock/internal/mcpserver/wire"
)

// A batch collects the answers to the calls of one JSON array, which are sent
// together as an array when the last is there. Its fields are guarded by the
// connection's mutex.
type batch struct {
	waiting int
	answers []jsontext.Value
}

// acceptBatch queues the messages of an array, all or none of them.
func (c *conn) acceptBatch(data []byte) error {
	var parts []jsontext.Value
	if err := json.Unmarshal(data, &parts); err != nil {
		return c.complain(&wire.Envelope{}, jsonrpc.CodeParseError, "not JSON")
	}
	if len(parts) == 0 || len(parts) > wire.MostInBatch {
		return c.complain(&wire.Envelope{}, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch holds 1 to %d messages", wire.MostInBatch))
	}
	var msgs []jsonrpc.Message
	in := &batch{}
	for _, part := range parts {
		var env wire.Envelope
		env.Write(part)
		msg, err := wire.Decode(part, &env)
		if err != nil {
			return c.complain(&wire.Envelope{}, jsonrpc.CodeInvalidRequest, "in a batch: "+err.Error())
		}
		msgs = append(msgs, msg)
	}
	for i, msg := range msgs {
		if !c.expect(msg, in) {
			c.forget(msgs[:i])
			return c.complain(&wire.Envelope{}, jsonrpc.CodeInvalidRequest, "in a batch: an id is used twice or is that of a call still in flight")
		}
	}
	c.queue = append(c.queue, msgs...)
	return nil
}

// forget undoes expect for calls that are not passed on after all.
func (c *conn) forget(msgs []jsonrpc.Message) {
	for _, msg := range msgs {
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
			c.answered(req.ID)
		}
	}
}

// writeBatch keeps an answer and writes all when it is the last.
func (c *conn) writeBatch(in *batch, resp *jsonrpc.Response) error {
	body, err := jsonrpc.EncodeMessage(resp)
	if err != nil {
		return err
	}
	c.mu.Lock()
	in.answers = append(in.answers, body)
	in.waiting--
	last := in.waiting == 0
	c.mu.Unlock()
	if !last {
		return nil
	}
	all, err := json.Marshal(in.answers)
	if err != nil {
		return err
	}
	return c.writeLine(all)
}
