/** What a key of `--keyfile` may be used for. The row of each endpoint says which scope it needs. */
export const keyScopes = ['text', 'chat', 'images', 'audio', 'embeddings', 'tools', 'documents', 'admin'] as const;
export type KeyScope = (typeof keyScopes)[number];
