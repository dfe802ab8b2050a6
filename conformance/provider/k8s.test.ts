import { describe, it } from 'vitest';
import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { whyNoPods } from '../../test/kube-api/sandbox.ts';
import { realClusterSubject, testClusterSubject } from './testing/k8s-subject.ts';
import { testProvider } from './testing/run-suite.ts';

const reason = whyNoPods();
if (reason === undefined) {
  const opened = await testClusterSubject();
  testProvider('kubernetes', () => opened, {
    lacks: lacksOf('k8s'),
    reports: { Nudge_SubmitSurvivesPasteBurst: 'K8S-09' },
  });
} else {
  describe.skipIf(reason !== undefined)(`provider conformance: kubernetes (skipped: ${reason})`, () => {
    it('every case', () => undefined);
  });
}

// A real cluster is asked for by name: GC_TEST_K8S_IMAGE needs sh, tar and Node under the same path as here.
const { GC_TEST_KUBECONFIG, GC_TEST_K8S_IMAGE = '', GC_TEST_K8S_NAMESPACE = 'default' } = process.env;
if (GC_TEST_KUBECONFIG) {
  const opened = await realClusterSubject(GC_TEST_KUBECONFIG, GC_TEST_K8S_IMAGE, GC_TEST_K8S_NAMESPACE);
  testProvider('kubernetes, a real cluster', () => opened, { lacks: lacksOf('k8s') });
}
