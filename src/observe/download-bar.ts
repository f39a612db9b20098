import { progressBar, type Terminal } from './terminal.ts';

interface Progress {
  /** Bytes that are here, and how many there will be where that is known. */
  readonly show: (done: number, total: number | undefined) => void;
}

/** How much of a file is here: a bar on a terminal, a line for each tenth in a log file. */
export function progressOf(terminal: Terminal, now: () => number): Progress {
  let started: { readonly at: number; readonly with: number } | undefined;
  let toldTenths = 0;
  return {
    show(done, total) {
      started ??= { at: now(), with: done };
      const seconds = (now() - started.at) / 1000;
      const speed = seconds > 1 ? `, ${((done - started.with) / 1e6 / seconds).toFixed(1)} MB/s` : '';
      const amount = `${(done / 1e6).toFixed(0)}${total === undefined ? '' : ` of ${(total / 1e6).toFixed(0)}`} MB${speed}`;
      terminal.status(total === undefined ? amount : `${progressBar(done / total)} ${amount}`);
      const tenths = total === undefined ? 0 : Math.floor((done / total) * 10);
      if (tenths <= toldTenths) return;
      toldTenths = tenths;
      if (!terminal.interactive) terminal.line(`${tenths * 10}% (${amount})`);
    },
  };
}
