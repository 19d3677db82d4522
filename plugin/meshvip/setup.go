package meshvip

import (
	"net"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
)

func init() {
	plugin.Register(pluginName, setup)
	hook()
}

// setup reads one server block's meshvip. It opens nothing: an instance that
// fails later is not told, so that all of it is done in OnStartup, and undone
// by whoever is left running.
func setup(c *caddy.Controller) error {
	hook()
	cfg, err := parse(c)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	server := dnsserver.GetConfig(c)
	if !cfg.Block.NS.Stated() {
		cfg.Block.NS.Value = nsAddresses(server.ListenHosts, net.InterfaceAddrs)
	}
	i := instanceOf(c)
	h := i.add(cfg)
	blocksOf(c).expect(h)
	server.AddPlugin(func(next plugin.Handler) plugin.Handler {
		h.Next = next
		return h
	})
	c.OnStartup(func() error {
		h.notify = notifyBy(c)
		if err := i.start(); err != nil {
			return plugin.Error(pluginName, err)
		}
		return nil
	})
	c.OnShutdown(i.stop)
	c.OnRestartFailed(i.keep)
	return nil
}
