/** A key as `GET /api/admin/keys` lists it; times are in ISO format. */
export interface ListedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Requests per minute. */
  readonly rate: number | null;
  /** Read and written. */
  readonly tokens_per_day: number | null;
  readonly tokens_today: number;
  readonly weight: number;
  /** Uses the common library. */
  readonly shared: boolean;
  readonly requests: number;
  readonly refused: number;
  readonly created: string | null;
  readonly expires: string | null;
  readonly last_seen: string | null;
}

/** The usage of one client on one day, as `GET /api/admin/usage` lists it. */
export interface DayUsage {
  readonly day: string;
  readonly type: string;
  readonly name: string;
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly images: number;
  readonly audio_seconds_in: number;
  readonly audio_seconds_out: number;
}

export type ClientUsage = Omit<DayUsage, 'day'>;

/** The sum of all days for each client, those with the most tokens first. */
export function sumByClient(rows: readonly DayUsage[]): readonly ClientUsage[] {
  const clients = new Map<string, ClientUsage>();
  for (const { day: _, ...row } of rows) {
    const id = `${row.type} ${row.name}`;
    const sum = clients.get(id);
    clients.set(id, sum ? added(sum, row) : row);
  }
  const tokens = (client: ClientUsage): number => client.prompt_tokens + client.completion_tokens;
  return [...clients.values()].sort((one, other) => tokens(other) - tokens(one) || other.requests - one.requests);
}

function added({ type, name, ...counts }: ClientUsage, other: ClientUsage): ClientUsage {
  const names = Object.keys(counts) as (keyof typeof counts)[];
  const sums = names.map((one) => [one, counts[one] + other[one]]);
  return { type, name, ...(Object.fromEntries(sums) as typeof counts) };
}

export function isExpired({ expires }: ListedKey, now: number): boolean {
  return expires !== null && Date.parse(expires) <= now;
}
