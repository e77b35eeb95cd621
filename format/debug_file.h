/*
 * Separate debug files: the symbols that strip(1) removes from a program, in a file of its own. Any thread; allocates
 * inside libelf only, blocks as reading does, and trusts no byte of a file.
 *
 * Source: "Debugging Information in Separate Files" of the GDB manual.
 */
#ifndef WEIR_FORMAT_DEBUG_FILE_H
#define WEIR_FORMAT_DEBUG_FILE_H

/*
 * Opens the debug file of the ELF file behind fd, which is read by pread(2) only. Candidates, in this order:
 *
 *     ROOT/.build-id/NN/NNNN.debug                 by the file's build id
 *     DIR/NAME, DIR/.debug/NAME, ROOT/DIR/NAME     by its section .gnu_debuglink, DIR being the folder of path
 *
 * The first matching candidate is taken. A candidate matches if it has the same build id or, for a file without one,
 * the checksum in .gnu_debuglink. path: absolute. root: NULL for /usr/lib/debug. Returns a descriptor, -ENOENT (no
 * match) or -errno of reading fd.
 */
int weir_debug_file_open(int fd, const char *path, const char *root);

#endif
