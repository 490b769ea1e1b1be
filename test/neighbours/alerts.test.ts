import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { scratchFolder, toolPath } from '@drydock/sandbox';
import { parse, stringify } from 'yaml';
import { skipNeighbours } from './support/machine-api.ts';

const skip = skipNeighbours;
const run = promisify(execFile);

interface AlertRule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const { spec } = parse(readFileSync(resolve(import.meta.dirname, '../../deploy/monitoring/alerts.yaml'), 'utf8')) as {
  readonly spec: { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] };
};
const rules = spec.groups.flatMap((group) => group.rules);

/** What an alert is to be told for, and what it is not: a sample a minute, of an hour. */
interface Case {
  readonly fires: readonly (readonly [series: string, values: string])[];
  /** The alert is still silent so many minutes in; absent where it is told at once. */
  readonly notBefore?: number;
  readonly at: number;
  /** What the series says of the one that is concerned. */
  readonly of: Readonly<Record<string, string>>;
  readonly silent: readonly (readonly [series: string, values: string])[];
}

const always = (value: number): string => `${value}x60`;
const set = { set: 'ms/a' };
const vcenter = { vcenter: 'vc1' };
const CASES: Readonly<Record<string, Case>> = {
  MCCBootImageSkewEnforcementNone: {
    fires: [['mcc_boot_image_skew_enforcement_none', always(1)]],
    ...{ at: 1, of: {} },
    silent: [['mcc_boot_image_skew_enforcement_none', always(0)]],
  },
  DrydockTemplateMissing: {
    fires: [['drydock_bootimage_template_absent_observed_total', '0x5 1x55']],
    ...{ at: 7, of: {} },
    silent: [['drydock_bootimage_template_absent_observed_total', always(4)]],
  },
  DrydockBootImageStuck: {
    fires: [
      ['drydock_bootimage_info{set="ms/a",phase="Blocked",pod="one"}', always(1)],
      ['drydock_bootimage_info{set="ms/a",phase="Blocked",pod="two"}', always(1)],
    ],
    ...{ notBefore: 14, at: 16, of: set },
    silent: [['drydock_bootimage_info{set="ms/a",phase="Skipped"}', always(1)]],
  },
  DrydockCanaryFailed: {
    fires: [['drydock_bootimage_stuck{set="ms/a",reason="CanaryFailed"}', always(1)]],
    ...{ at: 1, of: set },
    silent: [['drydock_bootimage_stuck{set="ms/a",reason="NoSpace"}', always(1)]],
  },
  DrydockStubAuthority: {
    fires: [
      ['drydock_bootimage_stub_authority{set="ms/a",status="False",reason="StubAuthorityOutdated"}', always(1)],
      ['drydock_bootimage_stub_authority{set="ms/b",status="Unknown",reason="StubAuthorityUnknown"}', always(1)],
    ],
    ...{ notBefore: 4, at: 6, of: set },
    silent: [
      ['drydock_bootimage_stub_authority{set="ms/a",status="Unknown",reason="StubAuthorityIncomplete"}', always(1)],
      ['drydock_bootimage_stub_authority{set="ms/b",status="True",reason="StubAuthorityExpiresSoon"}', always(1)],
    ],
  },
  DrydockStubAuthorityExpires: {
    fires: [['drydock_bootimage_stub_authority{set="ms/a",status="True",reason="StubAuthorityExpiresSoon"}', '1x120']],
    ...{ notBefore: 59, at: 61, of: set },
    silent: [['drydock_bootimage_stub_authority{set="ms/a",status="True",reason="StubAuthorityTrusted"}', always(1)]],
  },
  DrydockDatastoreSpace: {
    fires: [['drydock_bootimage_stuck{set="ms/a",reason="NoSpace"}', always(1)]],
    ...{ notBefore: 14, at: 16, of: set },
    silent: [['drydock_bootimage_stuck{set="ms/a",reason="CanaryFailed"}', always(1)]],
  },
  DrydockForeignWriterFight: {
    fires: [['drydock_bootimage_attempts{set="ms/a"}', always(4)]],
    ...{ at: 1, of: set },
    silent: [['drydock_bootimage_attempts{set="ms/a"}', always(3)]],
  },
  DrydockOperationStuck: {
    fires: [
      ['drydock_bootimage_info{set="ms/a",phase="Uploading"}', always(1)],
      ['drydock_bootimage_progress_bytes{set="ms/a"}', '0+100x5 600x55'],
    ],
    ...{ notBefore: 19, at: 40, of: set },
    silent: [
      ['drydock_bootimage_info{set="ms/a",phase="Uploading"}', always(1)],
      ['drydock_bootimage_progress_bytes{set="ms/a"}', '0+100x60'],
    ],
  },
  DrydockBootImageSkewTooOld: {
    fires: [['drydock_bootimage_skew_releases{of="oldest"}', always(5)]],
    ...{ at: 1, of: {} },
    silent: [['drydock_bootimage_skew_releases{of="oldest"}', always(4)]],
  },
  DrydockMinorUpgradeHeld: {
    fires: [['drydock_bootimage_upgrade_held', always(1)]],
    ...{ notBefore: 14, at: 16, of: {} },
    silent: [['drydock_bootimage_upgrade_held', '0x10 1x10 0x40']],
  },
  DrydockBootImageOld: {
    fires: [['drydock_bootimage_age_seconds{set="ms/a"}', always(31_536_001)]],
    ...{ at: 1, of: set },
    silent: [['drydock_bootimage_age_seconds{set="ms/a"}', always(31_536_000)]],
  },
  DrydockStatusWriteRejected: {
    fires: [['drydock_bootimage_status_write_rejected_total', '0x5 1x55']],
    ...{ at: 7, of: {} },
    silent: [['drydock_bootimage_status_write_rejected_total', always(0)]],
  },
  DrydockDown: {
    fires: [],
    ...{ notBefore: 9, at: 11, of: {} },
    // A standby, which has passed over nothing, is there as well.
    silent: [['drydock_bootimage_last_success_timestamp_seconds', always(0)]],
  },
  DrydockReleaseStatusRefused: {
    fires: [['payload_status_write_blocked{resource="payloads",name="tools",field="status.x"}', always(1)]],
    ...{ notBefore: 4, at: 6, of: { resource: 'payloads', name: 'tools' } },
    silent: [['payload_status_write_blocked{resource="payloads",name="tools",field="status.x"}', '1x2 stale']],
  },
  DrydockWatchDown: {
    fires: [['drydock_watch_state{watch="vms",vcenter="vc1",state="live"}', always(0)]],
    ...{ notBefore: 4, at: 6, of: { watch: 'vms', ...vcenter } },
    // The standby does not watch.
    silent: [
      ['drydock_watch_state{watch="vms",vcenter="vc1",state="live",pod="one"}', always(0)],
      ['drydock_watch_state{watch="vms",vcenter="vc1",state="live",pod="two"}', always(1)],
    ],
  },
  DrydockSessionsHigh: {
    fires: [
      ['drydock_vcenter_sessions{vcenter="vc1",pod="one"}', always(130)],
      ['drydock_vcenter_sessions{vcenter="vc1",pod="two"}', always(130)],
    ],
    ...{ at: 1, of: vcenter },
    silent: [
      ['drydock_vcenter_sessions{vcenter="vc1"}', always(130)],
      ['drydock_vcenter_sessions{vcenter="vc2"}', always(130)],
    ],
  },
};

let promtool: string;
before(async () => {
  if (skip !== false) return;
  promtool = await toolPath('promtool');
});

async function evaluated(tests: readonly object[]): Promise<string> {
  using folder = scratchFolder();
  await writeFile(join(folder.path, 'rules.yaml'), stringify(spec));
  const text = stringify(
    { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests },
    { aliasDuplicateObjects: false },
  );
  await writeFile(join(folder.path, 'tests.yaml'), text);
  await run(promtool, ['check', 'rules', '--lint-fatal', join(folder.path, 'rules.yaml')]);
  const told = await run(promtool, ['test', 'rules', join(folder.path, 'tests.yaml')]).catch(
    (error: { readonly stdout?: string; readonly stderr?: string }) => error,
  );
  return `${told.stdout ?? ''}${told.stderr ?? ''}`;
}

/** The test of one alert in promtool's own words. */
function testsOf(
  { alert, labels, annotations }: AlertRule,
  { fires, notBefore, at, of, silent }: Case,
): readonly object[] {
  const series = (all: Case['fires']): readonly object[] => all.map(([one, values]) => ({ series: one, values }));
  const told = (text: string): string =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => of[name] ?? '');
  const expected = {
    exp_labels: { ...labels, ...of },
    exp_annotations: Object.fromEntries(Object.entries(annotations).map(([key, text]) => [key, told(text)])),
  };
  const when = (minute: number, alerts: readonly object[]): object => ({
    ...{ eval_time: `${minute}m`, alertname: alert },
    exp_alerts: alerts,
  });
  return [
    {
      ...{ name: `${alert} fires`, interval: '1m', input_series: series(fires) },
      alert_rule_test: [...(notBefore === undefined ? [] : [when(notBefore, [])]), when(at, [expected])],
    },
    {
      ...{ name: `${alert} is silent`, interval: '1m', input_series: series(silent) },
      alert_rule_test: [when(at, []), when(45, [])],
    },
  ];
}

test('each alert is told for what it is for, of the one that is concerned, and not a minute before', {
  skip,
}, async () => {
  assert.deepEqual(rules.map(({ alert }) => alert).toSorted(), Object.keys(CASES).toSorted());
  const tests = rules.flatMap((rule) => testsOf(rule, CASES[rule.alert] ?? assert.fail(rule.alert)));
  assert.match(await evaluated(tests), /SUCCESS/);
});

test('negative control: an alert that comes too late, or with other words, is seen', { skip }, async () => {
  const [rule] = rules.filter(({ alert }) => alert === 'DrydockBootImageStuck');
  const { notBefore: _, ...stuck } = CASES['DrydockBootImageStuck'] ?? assert.fail();
  assert.match(await evaluated(testsOf(rule ?? assert.fail(), { ...stuck, at: 3 })), /FAILED/);
  const other = { ...(rule ?? assert.fail()), annotations: { summary: 'other' } };
  assert.match(await evaluated(testsOf(other, stuck)), /FAILED/);
});
