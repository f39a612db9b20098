/** What a key of `--keyfile` may be used for. The row of each endpoint says which scope it needs. */
export const keyScopes = ['text', 'chat', 'images', 'audio', 'embeddings', 'tools', 'documents', 'admin'] as const;
export type KeyScope = (typeof keyScopes)[number];

/** The scopes of a key for which none are chosen: all but administration. */
export const defaultScopes: readonly KeyScope[] = keyScopes.filter((scope) => scope !== 'admin');

/** Where a server says what an invitation is for; `parley lan` asks whether it knows one. */
export const previewPath = '/api/extra/join/preview';

/** What a person may do: the rules of a key. */
export interface PersonRules {
  readonly scopes: readonly KeyScope[];
  /** Requests per minute. */
  readonly rate?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  readonly weight?: number | undefined;
  /** Uses the common library. */
  readonly shared?: boolean | undefined;
  /** Of the key, in milliseconds since 1970. */
  readonly expires?: number | undefined;
}

/** For a new person, or for another device of one who has a key. */
export interface InvitationRequest {
  readonly name: string;
  /** A number is appended to a name that is taken, or that a removed person has left data under. */
  readonly suggested?: boolean | undefined;
  /** Missing for a device of the person of this name. */
  readonly rules?: PersonRules | undefined;
  readonly lifetimeMs: number;
  /** Who invites. */
  readonly by: string;
}

export interface Invitation extends Omit<InvitationRequest, 'lifetimeMs'> {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly expires: number;
}

/** What a link was made for, and whether it still works. */
export interface InvitationPreview extends Invitation {
  readonly state: 'open' | 'used' | 'expired';
}

/** `token` is stored nowhere. */
export interface IssuedInvitation extends Invitation {
  readonly token: string;
}

/** Who is signed in. */
export type SessionHolder =
  | { readonly type: 'key'; readonly name: string; readonly scopes: readonly KeyScope[] }
  /** `admin`: that of `--adminpassword`. */
  | { readonly type: 'password' | 'admin' };

/** A device on which somebody is signed in; times are milliseconds since 1970. */
export interface SessionFacts {
  readonly id: string;
  readonly holder: SessionHolder;
  /** As the device calls itself. */
  readonly device: string;
  readonly created: number;
  readonly lastUsed: number;
}

export interface NewSession {
  /** Stored nowhere. */
  readonly token: string;
  readonly holder: SessionHolder;
}

export interface SignIn {
  readonly device: string;
  /** Whether it is for longer than until the browser is closed. */
  readonly remember: boolean;
  /** Of the client, whose wrong tries are counted. */
  readonly address: string;
}

/** Whether the server has something that a person of this name has left. */
export type HasLeft = (name: string) => Promise<boolean>;

/** A newly made key, which is stored nowhere; for apps, which send it themselves. */
export interface NewKey {
  readonly key: string;
  readonly holder: SessionHolder;
}

/** Invitations and sessions. */
export interface People {
  /** Throws without a key file, and for a new person of a name that is taken. */
  invite(request: InvitationRequest): Promise<IssuedInvitation>;
  invitations(): Promise<readonly Invitation[]>;
  /** False if there is none. */
  withdraw(id: string): Promise<boolean>;
  /** Leaves the invitation as it is. Throws for a wrong token, and without a key file. */
  preview(token: string, address: string): Promise<InvitationPreview>;
  /** Uses an invitation up. Throws for one that is used, too old, or wrong. */
  join(token: string, sign: SignIn, hasLeft: HasLeft): Promise<NewSession>;
  /** The same for an app. */
  joinWithKey(token: string, address: string, hasLeft: HasLeft): Promise<NewKey>;
  /** Throws for a wrong key or password. */
  signIn(key: string, sign: SignIn): Promise<NewSession>;
  /** Sets what a person may do from the next request on; the key and the devices stay. False for an unknown name. */
  change(name: string, rules: PersonRules): Promise<boolean>;
  /** Revokes the key of a person, ends their sessions, and withdraws invitations for them and by them. False for an unknown name. */
  remove(name: string): Promise<boolean>;
  sessions(): Promise<readonly SessionFacts[]>;
  /** Ends the sessions for which this is true, with links for other devices that they may have made, and returns how many. */
  signOut(ended: (session: SessionFacts) => boolean): Promise<number>;
}
