/** Of one connection: ten minutes of PCM. */
const connectionBytes = 600 * 2 * 24_000;
/** Of all connections together. */
const totalBytes = 256 * 2 ** 20;

/**
 * Bounds the audio that waits to be transcribed, before the queue admits it: a model may have to be loaded first. Returns a function
 * that gives each connection its own reservations, undefined for those that do not fit.
 */
export function waitingAudio(limits = { connectionBytes, totalBytes }) {
  let total = 0;
  return () => {
    let own = 0;
    return (bytes: number): (() => void) | undefined => {
      if (own + bytes > limits.connectionBytes || total + bytes > limits.totalBytes) return undefined;
      own += bytes;
      total += bytes;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        own -= bytes;
        total -= bytes;
      };
    };
  };
}
