/** A key as `GET /api/admin/keys` lists it; times are in ISO format. */
export interface ListedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Requests per minute. */
  readonly rate: number | null;
  readonly weight: number;
  readonly requests: number;
  readonly refused: number;
  readonly created: string | null;
  readonly expires: string | null;
  readonly last_seen: string | null;
}

export function isExpired({ expires }: ListedKey, now: number): boolean {
  return expires !== null && Date.parse(expires) <= now;
}
