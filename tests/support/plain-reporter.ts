/** Ends every run with one plain line, `N passed, N failed`, after the names of tests that passed at their second try only; with CI=true a skipped test is a failure. */

import type { Reporter, TestModule } from 'vitest/node';

export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1;
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (test.diagnostic()?.flaky) console.log(`PASSED AT THE SECOND TRY: ${module.relativeModuleId} > ${test.fullName}`);
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
        else skipped += 1;
      }
    }
    const refused = process.env.CI === 'true' && skipped > 0;
    if (refused) {
      console.log(`CI=true allows no skipped test, and ${skipped} were skipped.`);
      process.exitCode = 1;
    }
    const rest = skipped > 0 && !refused ? `, ${skipped} skipped` : '';
    // After the default reporter's summary, so that this line is the last.
    setTimeout(() => console.log(`${passed} passed, ${failed + (refused ? skipped : 0)} failed${rest}`), 0);
  }
}
