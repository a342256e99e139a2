! SPDX-License-Identifier: BSD-3-Clause
! Coarrays through OpenCoarrays: every remote element is a lock, a put or get, an unlock. Results are checked; the time of
! the element-wise part is told, to compare the host MPI alone with TrueRMA.
program coarray_check
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: words = 2000, rounds = 5
  integer :: me, images, next, previous, i, round
  integer, allocatable :: ring(:)[:]
  integer :: counter[*]
  real(real64), allocatable :: grid(:, :)[:]
  real(real64) :: section(17, 25)
  integer(int64) :: begun, ended, rate

  me = this_image()
  images = num_images()
  next = mod(me, images) + 1
  previous = mod(me + images - 2, images) + 1
  allocate(ring(words)[*], grid(50, 50)[*])

  call system_clock(begun, rate)
  do round = 1, rounds
     ring = -1
     sync all
     do i = 1, words
        ring(i)[next] = me * 100000 + i + round
     end do
     sync all
     do i = 1, words
        if (ring(i) /= previous * 100000 + i + round) error stop 'a put did not arrive'
        if (ring(i)[next] /= me * 100000 + i + round) error stop 'a get is wrong'
     end do
     sync all
  end do
  call system_clock(ended)

  ! Sections with strides, in both directions.
  grid = real(me, real64)
  sync all
  section = -real(me, real64)
  grid(2:50:3, 1:49:2)[next] = section
  sync all
  if (any(grid(2:50:3, 1:49:2) /= -real(previous, real64))) error stop 'a strided put is wrong'
  if (any(grid(1:49:3, :) /= real(me, real64))) error stop 'a strided put hit its neighbours'
  if (any(grid(2:50:3, 1:49:2)[next] /= -real(me, real64))) error stop 'a strided get is wrong'
  sync all

  ! All images count on image 1.
  counter = 0
  sync all
  do i = 1, 200
     critical
       counter[1] = counter[1] + 1
     end critical
  end do
  sync all
  if (me == 1 .and. counter /= 200 * images) error stop 'a count was lost in the critical section'
  sync all
  do i = 1, 200
     call atomic_add(counter[1], 1)
  end do
  sync all
  if (me == 1 .and. counter /= 400 * images) error stop 'an atomic count was lost'
  i = me
  call co_sum(i)
  if (i /= images * (images + 1) / 2) error stop 'co_sum is wrong'
  if (me == 1) print '(a, f0.2, a)', 'Test passed, ', &
       real(ended - begun, real64) / real(rate, real64) * 1e6_real64 / real(2 * words * rounds, real64), &
       ' microseconds per remote element'
end program coarray_check
