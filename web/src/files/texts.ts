/** All sentences about files that are opened and saved. */
export const texts = {
  zip: {
    damaged: 'The zip archive is damaged. Download or export it again.',
    tooManyFiles: 'The zip archive has too many files.',
    damagedEntry: (name: string) => `${name} in the zip archive is damaged. Download or export the archive again.`,
    tooLarge: (name: string) => `${name} in the zip archive is too large.`,
    encrypted: (name: string) => `${name} in the zip archive is encrypted. Save the archive without a password.`,
    unknownMethod: (name: string) => `${name} in the zip archive is compressed in an unsupported way.`,
  },
} as const;
