package publish

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// readText returns what is read of a table with this text.
func readText(t *testing.T, text string) ([]*vip.Row, []error) {
	t.Helper()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "m.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tables, bad, err := open(t, path).Read()
	if err != nil {
		t.Fatal(err)
	}
	return tables["m"], bad
}

func TestEveryFormatOfKumaIsTakenUp(t *testing.T) {
	t.Parallel()
	want := row(vip.Service, "m", "orders", "240.0.0.1", "", serviceOutbound("orders", 0))
	for _, text := range []string{
		`{"orders":"240.0.0.1"}`,
		`{"0:orders":"240.0.0.1"}`,
		`{"0:orders":{"address":"240.0.0.1","outbounds":[{"TagSet":{"kuma.io/service":"orders"},"Origin":"service"}]}}`,
		`{"v":{"orders":{"oe":[{"ap":[{"a":"240.0.0.1","o":"svc"}]}]}}}`,
	} {
		if rows, bad := readText(t, text); len(rows) != 1 || !rows[0].Equal(want) || len(bad) > 0 {
			t.Errorf("%s: rows %+v, set aside %v", text, rows, bad)
		}
	}
}

func TestRowsThatAreThereTwiceAreOneWithTheFirstSpelling(t *testing.T) {
	t.Parallel()
	rows, bad := readText(t, `{"0:b":{"address":"240.0.0.1"},"0:B":{"address":"240.0.0.2"},"0:c":{},"0:C":{"address":"240.0.0.3"}}`)
	if len(rows) != 2 || len(bad) != 2 {
		t.Fatalf("rows %+v, set aside %v", rows, bad)
	}
	if want := netip.MustParseAddr("240.0.0.2"); rows[0].V4 != want || rows[0].Entry.Name != "B" {
		t.Errorf("row %+v, want B with %v", rows[0], want)
	}
	if rows[1].Entry.Name != "C" || !rows[1].V4.IsValid() {
		t.Errorf("row %+v, want the one that has an address", rows[1])
	}
	if !strings.Contains(bad[0].Error(), `row "0:b": the table has the entry already, as "0:B" with the address [240.0.0.2]`) {
		t.Errorf("error %v, want the row that was taken", bad[0])
	}
}

func TestKindsThatTablesDoNotKnowAreNotTakenUp(t *testing.T) {
	t.Parallel()
	rows, bad := readText(t, `{"0:a":{},"3:m/backend":{"address":"240.0.0.1"}}`)
	if len(rows) != 1 || len(bad) != 1 || !strings.Contains(bad[0].Error(), `row "3:m/backend", at byte 10: tables of Kuma have no rows of type 3 (MeshService), so this is none of its own: remove it`) {
		t.Errorf("rows %+v, set aside %v", rows, bad)
	}
}
