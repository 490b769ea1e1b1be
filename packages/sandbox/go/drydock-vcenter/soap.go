package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	vimxml "github.com/vmware/govmomi/vim25/xml"
)

// fault is a vSphere fault by name. Fields are child elements in the order given by XML, or simple values by name.
type fault struct {
	Name    string            `json:"name"`
	Message string            `json:"message,omitempty"`
	Fields  map[string]string `json:"fields,omitempty"`
	// XML goes into the fault element as it is; for fields that are not plain text.
	XML string `json:"xml,omitempty"`
}

const envelopeOpen = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
	`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" ` +
	`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`
const envelopeClose = `</soapenv:Body></soapenv:Envelope>`

func escape(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}

func (f fault) body() string {
	var out strings.Builder
	for _, name := range sortedKeys(f.Fields) {
		fmt.Fprintf(&out, "<%s>%s</%s>", name, escape(f.Fields[name]), name)
	}
	return out.String() + f.XML
}

func writeFault(w http.ResponseWriter, f fault) {
	w.Header().Set("Content-Type", `text/xml; charset="utf-8"`)
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `%s<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring><detail>`+
		`<%sFault xmlns="urn:vim25" xsi:type="%s">%s</%sFault></detail></soapenv:Fault>%s`,
		envelopeOpen, escape(f.Message), f.Name, f.Name, f.body(), f.Name, envelopeClose)
}

// writeTask answers a *_Task method with a task.
func writeTask(w http.ResponseWriter, method string, task types.ManagedObjectReference) {
	w.Header().Set("Content-Type", `text/xml; charset="utf-8"`)
	_, _ = fmt.Fprintf(w, `%s<%sResponse xmlns="urn:vim25"><returnval type="Task">%s</returnval></%sResponse>%s`,
		envelopeOpen, method, escape(task.Value), method, envelopeClose)
}

// decoded turns the fault into the simulator's type, so that a task can carry it. An unknown name is refused.
func (f fault) decoded() (types.BaseMethodFault, error) {
	kind, ok := types.TypeFunc()(f.Name)
	if !ok {
		return nil, fmt.Errorf("no vSphere fault is called %q", f.Name)
	}
	value := reflect.New(kind).Interface()
	decoder := vimxml.NewDecoder(strings.NewReader(`<fault xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` + f.body() + "</fault>"))
	decoder.TypeFunc = types.TypeFunc()
	if err := decoder.Decode(value); err != nil {
		return nil, fmt.Errorf("fields of fault %s: %w", f.Name, err)
	}
	method, ok := value.(types.BaseMethodFault)
	if !ok {
		return nil, fmt.Errorf("%q is a vSphere type, but not a fault", f.Name)
	}
	return method, nil
}

// soapMethod is the local name of the first element in Body; "" when the text is no SOAP call.
func soapMethod(body []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	inBody := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case inBody:
			return start.Name.Local
		case start.Name.Local == "Body":
			inBody = true
		}
	}
}

// decodeCall gives the typed request, or nil when the simulator could not decode it either (it will say so itself).
func decodeCall(body []byte) any {
	known := types.TypeFunc()
	method, err := simulator.UnmarshalBody(func(name string) (reflect.Type, bool) {
		_, local, found := strings.Cut(name, ":")
		if kind, ok := known(name); ok || !found {
			return kind, ok
		}
		return known(local)
	}, body)
	if err != nil {
		return nil
	}
	return method.Body
}

// elementText is the character data of the first element of that local name, with its type attribute.
func elementText(body []byte, name string) (text, kind string) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if err != nil {
			return "", ""
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != name {
			continue
		}
		for _, attr := range start.Attr {
			if attr.Name.Local == "type" && attr.Name.Space == "" {
				kind = attr.Value
			}
		}
		token, err = decoder.Token()
		if data, ok := token.(xml.CharData); err == nil && ok {
			return string(data), kind
		}
		return "", kind
	}
}

func readBody(r *http.Request) ([]byte, error) {
	const limit = 64 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err == nil && len(body) > limit {
		err = errors.New("request body above 64 MiB")
	}
	return body, err
}
