/** The model for embeddings that comes with Parley, and what is known of it before it is there. */
export const builtInModel = {
  name: 'all-MiniLM-L6-v2',
  sha256: '2edd4a6b03f7e9a21c14ff406c35a789a2ff168ef324805dc334649c8ba9f56a',
  bytes: 46_223_328,
} as const;
