package kuma

import (
	"fmt"
	"math"
	"net/netip"
)

// object is a mapping of a document, with the path that errors name.
type object struct {
	path string // of this mapping, ending in a dot; empty at the top
	m    map[string]any
	// faults are those of the document, which its mappings share.
	faults *faults
}

// fault notes that the value at key is passed over, and why.
func (o object) fault(key string, why error) {
	o.faults.add(fmt.Errorf("%s%s: %w", o.path, key, why))
}

// address returns the IP address at key, where there has to be one. What is
// none is a fault, and the zero Addr.
func (o object) address(key string) netip.Addr {
	text, err := o.text(key)
	if err != nil {
		o.faults.add(err)
		return netip.Addr{}
	}
	a, err := address(text)
	if err != nil {
		o.fault(key, err)
	}
	return a
}

// text returns the string at key, "" where there is none.
func (o object) text(key string) (string, error) {
	switch v := o.m[key].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("%s%s: %s where text is expected: put it in quotes", o.path, key, describe(v))
	}
}

// flag returns the boolean at key, false where there is none.
func (o object) flag(key string) (bool, error) {
	switch v := o.m[key].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	default:
		return false, fmt.Errorf("%s%s: %s where true or false is expected", o.path, key, describe(v))
	}
}

// port returns the port number at key, 0 where there is none.
func (o object) port(key string) (uint16, error) {
	switch v := o.m[key].(type) {
	case nil:
		return 0, nil
	case float64:
		if v >= 0 && v <= math.MaxUint16 && v == math.Trunc(v) {
			return uint16(v), nil
		}
		return 0, fmt.Errorf("%s%s: %v is no port: write a number from 1 to 65535", o.path, key, v)
	default:
		return 0, fmt.Errorf("%s%s: %s where a port is expected: write a number from 1 to 65535", o.path, key, describe(v))
	}
}

// object returns the mapping at key, and whether there is one.
func (o object) object(key string) (object, bool, error) {
	switch v := o.m[key].(type) {
	case nil:
		return object{o.path + key + ".", nil, o.faults}, false, nil
	case map[string]any:
		return object{o.path + key + ".", v, o.faults}, true, nil
	default:
		return object{}, false, fmt.Errorf("%s%s: %s where a mapping is expected", o.path, key, describe(v))
	}
}

// objects returns the mappings of the list at key, none where there is no
// list.
func (o object) objects(key string) ([]object, error) {
	switch v := o.m[key].(type) {
	case nil:
		return nil, nil
	case []any:
		list := make([]object, len(v))
		for i, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s%s[%d]: %s where a mapping is expected", o.path, key, i, describe(item))
			}
			list[i] = object{fmt.Sprintf("%s%s[%d].", o.path, key, i), m, o.faults}
		}
		return list, nil
	default:
		return nil, fmt.Errorf("%s%s: %s where a list is expected", o.path, key, describe(v))
	}
}

// describe names a value and its type, shortened.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("the truth value %v", v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
