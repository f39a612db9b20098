const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** In English whatever the machine's language, because templates were trained with English dates. */
const directives: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => String(time.getFullYear()),
  y: (time) => twoDigits(time.getFullYear() % 100),
  m: (time) => twoDigits(time.getMonth() + 1),
  d: (time) => twoDigits(time.getDate()),
  e: (time) => String(time.getDate()).padStart(2, ' '),
  B: (time) => months[time.getMonth()] ?? '',
  b: (time) => (months[time.getMonth()] ?? '').slice(0, 3),
  A: (time) => days[time.getDay()] ?? '',
  a: (time) => (days[time.getDay()] ?? '').slice(0, 3),
  H: (time) => twoDigits(time.getHours()),
  I: (time) => twoDigits(time.getHours() % 12 || 12),
  M: (time) => twoDigits(time.getMinutes()),
  S: (time) => twoDigits(time.getSeconds()),
  p: (time) => (time.getHours() < 12 ? 'AM' : 'PM'),
  j: (time) => String(dayOfYear(time)).padStart(3, '0'),
  F: (time) => strftime(time, '%Y-%m-%d'),
  T: (time) => strftime(time, '%H:%M:%S'),
  '%': () => '%',
};

/** The date formats that chat templates use; `%-d` leaves the leading zero out, an unknown directive stays as it is. */
export function strftime(time: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, bare: string, letter: string) => {
    const written = directives[letter]?.(time);
    if (written === undefined) return whole;
    return bare ? written.replace(/^[0 ]+(?=.)/, '') : written;
  });
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

function dayOfYear(time: Date): number {
  const midnight = Date.UTC(time.getFullYear(), time.getMonth(), time.getDate());
  return (midnight - Date.UTC(time.getFullYear(), 0, 0)) / 86_400_000;
}
