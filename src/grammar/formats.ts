const leapDay = '((\\d\\d(0[48]|[2468][048]|[13579][26]))|(([02468][048]|[13579][26])00))-02-29';
const otherDay =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))';
const date = `(${otherDay}|${leapDay})`;
const time = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)';
const byte = '(\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])';
const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?';
const atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,32}";

/**
 * The formats that are enforced, as patterns. What a pattern writes is always right; of what the format would allow it
 * may leave out oddities (leap seconds, quoted mail names). Other formats are hints and change nothing.
 */
export const formats: Readonly<Record<string, string>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  uuid: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  ipv4: `^${byte}(\\.${byte}){3}$`,
  email: `^${atom}(\\.${atom})?@${label}(\\.${label}){1,3}$`,
};
