// Package storetest holds the contract of [allocator.Store] as tests. Every
// store runs them:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Subject { ... })
//	}
package storetest
