package meshvip

import "strings"

// The Corefile's reader sees a brace only at the end of a line ({) or on a line
// of its own (}). Anywhere else it is an argument, and the block ends elsewhere
// than it seems to: so what stands anywhere else is refused.

// block reads the block of the property name, if one begins at the end of this
// line. read is called on the first token of each line, and takes the line.
func (p *parser) block(name string, read func() error) error {
	if !p.blockFollows() {
		if ahead := p.c.Dispenser; ahead.Next() && ahead.Val() == "{" {
			return p.alone()
		}
		return nil // asked for a block, the reader would take the next line of the one around
	}
	for p.more() && p.c.NextBlock() {
		if p.c.Val() == "{" {
			return p.alone()
		}
		if err := read(); err != nil {
			return err
		}
		if !p.more() {
			return p.c.Errf("the block of %s has no end: put a } on a line of its own", name)
		}
	}
	ahead := p.c.Dispenser
	switch {
	case p.c.Val() == "}" && ahead.NextArg():
		return p.c.Errf("'%s' follows the } of %s: put it on a line of its own", ahead.Val(), name)
	case p.c.Val() == "}":
		return nil
	case ahead.Next() && ahead.Val() == "{":
		return p.alone()
	}
	return p.c.Errf("the block of %s has no end: put a } on a line of its own", name)
}

// alone is the error of an opening brace that begins a line.
func (p *parser) alone() error {
	return p.c.Errf("a { stands on a line of its own: put it at the end of the line above, or remove it")
}

// unknown is the error of a property that there is not.
func (p *parser) unknown(name, where string, known []string) error {
	return p.c.Errf("unknown property '%s'%s, expected one of: %s", name, where, strings.Join(known, ", "))
}

// noBlock is the error of a property with a block that it cannot have.
func (p *parser) noBlock(name string) error {
	return p.c.Errf("property '%s' takes no block: remove the {", name)
}

// args takes the arguments of a property in the block of around.
func (p *parser) args(around, name string) ([]string, error) {
	args := p.c.RemainingArgs()
	return args, p.plain(around, name, args)
}

// plain refuses arguments with a brace in them.
func (p *parser) plain(around, name string, args []string) error {
	for _, a := range args {
		if strings.ContainsAny(a, "{}") {
			return p.c.Errf("'%s' has a brace among its arguments: "+
				"end the line of %s with \" {\", and put each property and the } on a line of its own", name, around)
		}
	}
	return nil
}

// blockFollows reports whether the next token on the line is an opening brace,
// without taking it.
func (p *parser) blockFollows() bool {
	ahead := p.c.Dispenser
	return ahead.NextArg() && ahead.Val() == "{"
}

// more reports whether any token is left.
func (p *parser) more() bool {
	ahead := p.c.Dispenser
	return ahead.Next()
}
