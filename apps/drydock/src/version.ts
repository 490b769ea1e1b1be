/** Version of this program, as it calls itself. */
export const VERSION = '0.1.0';
