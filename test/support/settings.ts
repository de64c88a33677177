// The table of settings in docs/operations/settings.md, made from the code that reads them.
import { loadConfig, settings } from '../../src/config.ts';

/** What a number may be, as the service says it to whoever sets something else. */
function readRange(name: string): string | undefined {
  try {
    loadConfig({ [name]: 'x' });
  } catch (error) {
    return /ganze Zahl von (\d+ bis \d+)/.exec(String(error))?.[1];
  }
  return undefined;
}

export function formatSettings(): string {
  const lines = Object.entries(settings).map(([name, { fallback, meaning }]) => {
    const range = readRange(name);
    const standard = [fallback === null ? [] : `\`${fallback}\``, range === undefined ? [] : `(${range})`].flat().join(' ');
    return `| \`${name}\` | ${standard} | ${meaning} |`;
  });
  return ['| Name | Vorgabe (erlaubt) | Bedeutung |', '| --- | --- | --- |', ...lines].join('\n');
}
