package main

import (
	"net/http"
	"net"
)
func serveSwitchboard(vc *vcenter, address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(l, nil) }()
	return "http://" + l.Addr().String(), nil
}
