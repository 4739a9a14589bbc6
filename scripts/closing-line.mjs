// A vitest reporter that ends the run with one plain line, for people and for machines that read logs.
export default class ClosingLine {
  onTestRunEnd(modules, errors) {
    const count = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state in count) count[state]++
      }
      // A file that fails to load has no tests, but counts as a failure.
      if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) count.failed++
    }
    count.failed += errors.length
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
    console.log(`${count.passed} passed, ${count.failed} failed${skipped}`)
  }
}
