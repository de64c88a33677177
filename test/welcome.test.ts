// What stands on the terminal once the service listens.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeSettings, loadConfig } from '../src/config.ts';
import { describeFirstSteps } from '../src/welcome.ts';

it('a worker names its health, and no map', () => {
  for (const [role, expected] of [
    ['web', /Karte: http:\/\/localhost:8081\/karte\n/],
    ['all', /Karte: http:\/\/localhost:8081\/karte\n/],
    [
      'worker',
      /^\nDer Dienst läuft, nur für Aufträge \(PROCESS_ROLE=worker\)\. Zustand: http:\/\/localhost:8081\/health\/ready\n\n$/,
    ],
  ] as const)
    assert.match(describeFirstSteps(loadConfig({ PROCESS_ROLE: role, PORT: '8081' }), [], 'postgres', []), expected);
});

it('says that a public port wants a proxy, until there is one', () => {
  const said = (TRUST_PROXY: string) => describeFirstSteps(loadConfig({ TRUST_PROXY }), [], 'postgres', []);
  assert.match(said('false'), /\nVor einen öffentlichen Port gehört ein Proxy/);
  assert.doesNotMatch(said('1'), /Proxy/);
});

it('--help has room between the name of a setting and what it means', () => {
  const [, ...lines] = describeSettings().split('\n');
  assert.ok(lines.length > 30);
  for (const line of lines) assert.match(line, /^ {2}[A-Z0-9_]+ {2}/);
});
