// Package peers compares the allocator with the address managers of other
// software, whose dependencies a module of its own keeps out of the product's.
// It has benchmarks only; "make bench" runs them.
package peers
