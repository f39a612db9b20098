import { fileURLToPath } from 'node:url';
import { command, flag, type Lines, readPort, text } from './command.ts';
import { examine, reportLines } from './doctor.ts';
import { type Machine, thisMachine } from './doctor-machine.ts';
import { type Licenses, licensesText, readLicenses } from './licenses.ts';

interface ReportCommand {
  readonly args: readonly string[];
  readonly terminal: Lines;
}

const doctorUsage = `parley doctor           what works here, what is missing, and what to do
parley doctor --json    the same for scripts
parley doctor --port N  for a server on another port than 5001`;
const licensesUsage = `parley licenses         the licences of everything that comes with Parley
parley licenses --json  the same for scripts`;

/** `parley doctor`: the exit code is 0 if Parley can serve. */
export const doctorCommand = command(
  { usage: doctorUsage, options: { json: flag, port: text } },
  async (
    { values, positionals },
    { terminal, machine = thisMachine }: ReportCommand & { readonly machine?: (port: number) => Machine },
  ) => {
    const port = readPort(values.port);
    if (positionals.length > 0 || port === undefined) return undefined;
    const report = await examine(machine(port));
    const { product, canServe, findings } = report;
    const { name, version, commit } = product;
    if (values.json)
      terminal.line(JSON.stringify({ product: { name, version, commit }, canServe, findings }, undefined, 2));
    else terminal.line(reportLines(report).join('\n'));
    return canServe ? 0 : 1;
  },
);

const ownLicenses = () => readLicenses(fileURLToPath(new URL('../..', import.meta.url)));

/** `parley licenses` */
export const licensesCommand = command(
  { usage: licensesUsage, options: { json: flag } },
  ({ values, positionals }, { terminal, read = ownLicenses }: ReportCommand & { readonly read?: () => Licenses }) => {
    if (positionals.length > 0) return undefined;
    terminal.line(values.json ? JSON.stringify(read(), undefined, 2) : licensesText(read()));
    return 0;
  },
);
