// Puts together where reads of requests go: to the primary, or to its replicas.
import type { Config } from './config.ts';
import { besideOthers, callBounds, type Database, poolSize, reservedConnections, type Sql } from './db/client.ts';
import { Hosts } from './db/hosts.ts';
import { listReplicas, type Replica, watchReplicas } from './db/replicas.ts';
import { admitCalls } from './guard/admission.ts';
import { type ReadCounts, readFrom } from './guard/reads.ts';
import { restAfter } from './guard/rest.ts';
import { codeOfFault } from './observe/fault.ts';
import type { Log } from './observe/log.ts';

export interface Reads {
  /** What requests read by. */
  reads: Sql;
  /** Where there are any. */
  replicas?: readonly Replica[];
  /** How often each server was read. */
  counts?: ReadCounts;
  /** Whether what this request read came from several servers. */
  isMixed?: () => boolean;
  /** Another client of the primary, for the same requests. */
  apart(client: Sql): Sql;
  close(): Promise<void>;
}

/**
 * Opens the replicas that are configured.
 * @param sql what requests use at the primary
 * @throws DatabaseError as listReplicas
 */
export async function openReads(
  database: Database,
  sql: Sql,
  config: Pick<Config, 'role' | 'databaseUrl' | 'directDatabaseUrl' | 'replicas' | 'dbPool'>,
  log: Log,
): Promise<Reads> {
  const { urls, maxLagSeconds } = config.replicas;
  const url = config.directDatabaseUrl ?? config.databaseUrl;
  if (urls.length === 0 || url === null || config.role === 'worker')
    return { reads: sql, apart: (client) => client, close: async () => {} };
  // First: nothing is watched for addresses that are none.
  const addresses = listReplicas(urls);
  const hosts = database.hosts ?? new Hosts(url, false);
  const connections = config.dbPool ?? poolSize;
  const replicas = await watchReplicas(hosts, addresses, {
    maxLagSeconds,
    connections,
    tell: (replica, reason, fault) =>
      reason === null
        ? log.info({ replica }, 'replica is read')
        : log.warn({ replica, reason, code: codeOfFault(fault) }, 'replica is left out'),
  });
  const { reads, counts, isMixed, apart } = readFrom(sql, {
    all: replicas.all.map((replica) => ({
      name: replica.name,
      client: admitCalls(replica.sql, {
        name: 'replicas',
        count: replicas.all.length,
        slots: connections,
        // One network leaves two to the others, as at the primary, which has a reserve.
        share: connections - reservedConnections,
        besideOthers: besideOthers(connections),
        ...callBounds,
        restMs: restAfter,
      }),
      mayRead: () => replica.leftOut === null,
      heardAt: () => replica.heardAt,
    })),
    isPrimaryAway: () => replicas.isPrimaryAway,
  });
  return {
    reads,
    counts,
    isMixed,
    apart,
    replicas: replicas.all,
    async close() {
      await replicas.close();
      if (hosts !== database.hosts) await hosts.close();
    },
  };
}
