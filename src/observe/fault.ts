// Faults as operators read them: one clear line when a command can't go on, and what the log says of a defect.
import { resolve } from 'node:path';
import type { Log } from './log.ts';

// Raised on purpose with a sentence for the operator.
const expected = new Set([
  'BackupError',
  'BoundaryError',
  'ConfigError',
  'DatabaseError',
  'ImportError',
  'UsageError',
  'EmbeddedBusyError',
  'EmbeddedOpenError',
]);

/** The line for an error that ends a command; faults of the service itself come with their stack, they are to be reported. */
export function describeStartError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.constructor.name === 'StorageError') return `Die Ablage der Dateien (MEDIA_URL) geht nicht: ${error.message}`;
  if (expected.has(error.constructor.name)) return error.message;
  const refusal = findDatabaseError(error);
  if (refusal) {
    const sentence = `Die Datenbank hat das abgelehnt (${refusal.code}): ${refusal.message}`;
    // Mostly a command in the environment of the service, whose role may only serve.
    return refusal.code === '42501'
      ? `${sentence}. Befehle und Migrationen brauchen in MIGRATE_DATABASE_URL die Rolle, der die Datenbank gehört.`
      : sentence;
  }
  const { code, port, path } = error as { code?: unknown; port?: unknown; path?: unknown };
  if (code === 'EADDRINUSE') return `Port ${port} ist schon belegt; ein anderer geht mit PORT=…`;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    if (typeof path === 'string')
      return `Kein Zugriff auf ${resolve(path)} (${code}); dieser Benutzer braucht die Rechte an der Datei und ihrem Verzeichnis.`;
    return `Kein Zugriff auf eine Datei oder einen Port (${code}); Rechte von DATA_DIR und PORT prüfen.`;
  }
  if (code === 'EADDRNOTAVAIL') return 'HOST ist keine Adresse dieses Rechners.';
  return error.stack ?? error.message;
}

// A library may hide the database's error behind one of its own, with the statement in it, which may be pages long.
function findDatabaseError(error: Error): (Error & { code: string }) | null {
  for (let each: unknown = error; each instanceof Error; each = each.cause)
    if ('code' in each && typeof each.code === 'string' && 'severity' in each) return each as Error & { code: string };
  return null;
}

/** SQLSTATE or system code of an error, or of its cause where it has none itself. Never its stack, which takes long to make. */
export function codeOfFault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error) return String(error.code);
  return error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : undefined;
}

/** A defect for the log: where it came from, never its message, which may carry a user's data. */
export function describeFault(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const source = error.cause instanceof Error ? error.cause : error;
  const frames = source.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { name: source.name, code: codeOfFault(error), frames: frames.slice(0, 6) };
}

/**
 * Logs an error that was thrown where nobody waits for it, as the defect that it is, and lets the process go on: it ends the
 * request that it belongs to, not everybody's.
 * @param fail ends the request that the code which threw was running for, if there is one
 */
export function surviveDefects(log: Log, fail: (error: unknown) => void): void {
  const survive = (error: unknown) => {
    log.error(describeFault(error), 'defect: an error that nobody waited for');
    fail(error);
  };
  process.on('uncaughtException', survive);
  process.on('unhandledRejection', survive);
}
