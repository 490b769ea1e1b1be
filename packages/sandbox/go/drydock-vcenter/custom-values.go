package main

import (
	"regexp"
	"unicode/utf8"

	"github.com/vmware/govmomi/vim25/types"
)

// customValueLimit is how many characters the value of a custom attribute may have in a vCenter.
const customValueLimit = 255

var customValue = regexp.MustCompile(`(?s)(<value[^>]*>).*(</value>)`)

// limitCustomValue refuses a value that is too long, or cuts it off before the simulator sees it: both happen in the field.
func (vc *vcenter) limitCustomValue(c *call) *fault {
	request, ok := decodeCall(c.body).(*types.SetField)
	if !ok || c.session == nil || utf8.RuneCountInString(request.Value) <= customValueLimit {
		return nil
	}
	switch vc.chosen().LongCustomValues {
	case "keep":
		return nil
	case "truncate":
		short := escape(string([]rune(request.Value)[:customValueLimit]))
		c.body = customValue.ReplaceAllFunc(c.body, func(whole []byte) []byte {
			parts := customValue.FindSubmatch(whole)
			return []byte(string(parts[1]) + short + string(parts[2]))
		})
		return nil
	}
	return invalidArgument("value")
}
