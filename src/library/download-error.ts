/** A sentence for people: why a download failed, and what to do. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
}
